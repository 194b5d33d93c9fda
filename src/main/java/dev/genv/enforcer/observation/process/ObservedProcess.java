package dev.genv.enforcer.observation.process;

import dev.genv.enforcer.facts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.format.linux.ProcStat.Relations;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.membership.ProgramEnviron;
import dev.genv.enforcer.observation.workload.WorkloadReadings;
import org.jspecify.annotations.Nullable;

/**
 * A process that existed unchanged while its parts were read.
 *
 * @param uid its real uid; null if it could not be read, and then its environ is unavailable too
 * @param relations its place among the other processes; null if that changed while its parts were read
 * @param executable the program that it runs
 * @param workload what was read about its workload
 */
public record ObservedProcess(
        ProcessId id,
        @Nullable Long uid,
        String command,
        ProgramEnviron environ,
        @Nullable Relations relations,
        boolean kernelThread,
        Reading<ProgramFile> executable,
        WorkloadReadings workload) {}
