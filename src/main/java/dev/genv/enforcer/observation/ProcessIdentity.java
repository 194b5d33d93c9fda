package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.RelatedProcesses.ProgramEnviron;
import dev.genv.enforcer.observation.Workloads.WorkloadReadings;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The identity of a process: start time, real uid, environ. */
public sealed interface ProcessIdentity {
    Pattern SLURM_JOB = Pattern.compile("[1-9][0-9]{0,9}");
    Membership.Unknown UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");
    Membership.Unknown SILENT = new Membership.Unknown("its environ does not answer");

    /** It has exited, a zombie included, or another process has its pid now. */
    record Gone() implements ProcessIdentity {}

    /** It is unknown whether it has exited, for a reason as a clause. */
    record Unreadable(String reason) implements ProcessIdentity {}

    /** It exists. */
    record Present(ObservedProcess process) implements ProcessIdentity {}

    /** Combines the facts of a process. They belong together only if it was the same process before and after. */
    static ProcessIdentity of(ProcessFacts facts) {
        if (isAbsent(facts.before()) || isAbsent(facts.after())) {
            return new Gone();
        }
        var before = stat(facts.before());
        var after = stat(facts.after());
        if (before.isEmpty() || after.isEmpty()) {
            return new Unreadable(reason(before.isEmpty() ? facts.before() : facts.after()));
        }
        var first = before.get();
        var last = after.get();
        if (first.isZombie() || last.isZombie() || first.startTime() != last.startTime()) {
            return new Gone();
        }
        var uid = facts.uid() instanceof Reading.Value<Long>(var number) ? number : null;
        var environ = uid == null ? ProgramEnviron.unavailable(UID_UNKNOWN) : environ(facts.environ(), first, last);
        return new Present(new ObservedProcess(
                new ProcessId(facts.pid(), last.startTime()),
                uid,
                last.command(),
                environ,
                first.relations().equals(last.relations()) ? last.relations() : null,
                last.isKernelThread(),
                facts.executable(),
                new WorkloadReadings(facts.cgroup(), slurmJob(facts.environ(), environ))));
    }

    /** Whether a process has certainly exited; a zombie has. */
    static boolean hasEnded(ProcessId id, Reading<Bytes> stat) {
        return isAbsent(stat)
                || stat(stat)
                        .filter(now -> now.isZombie() || now.startTime() != id.startTime())
                        .isPresent();
    }

    private static ProgramEnviron environ(Reading<EnvironFacts> reading, ProcStat before, ProcStat after) {
        return switch (reading) {
            case Reading.Value<EnvironFacts>(var environ) -> ProgramEnviron.of(environ, before, after);
            case Reading.Failed<EnvironFacts>(var failure, var reason) ->
                ProgramEnviron.unavailable(
                        switch (failure) {
                            case DENIED -> Membership.NOT_PERMITTED;
                            case TIMEOUT, SKIPPED -> SILENT;
                            case NO_TIME ->
                                unreadable(reason.isEmpty() ? "no time was left to wait for its answer" : reason);
                            case ABSENT, UNTRUSTED, OTHER -> unreadable(reason);
                        });
        };
    }

    /** Returns the job that an environ names, empty if it names none; null if it is not as execve(2) wrote it. */
    private static @Nullable String slurmJob(Reading<EnvironFacts> reading, ProgramEnviron environ) {
        if (!(environ.content() instanceof ProgramEnviron.Content.Intact)
                || !(reading instanceof Reading.Value<EnvironFacts>(var facts))) {
            return null;
        }
        var job = facts.slurmJob().text();
        return SLURM_JOB.matcher(job).matches() ? job : "";
    }

    private static Membership.Unknown unreadable(String reason) {
        return new Membership.Unknown("its environ cannot be read" + (reason.isEmpty() ? "" : ": " + reason));
    }

    private static boolean isAbsent(Reading<Bytes> stat) {
        return stat instanceof Reading.Failed<Bytes>(var failure, var _) && failure == Failure.ABSENT;
    }

    private static Optional<ProcStat> stat(Reading<Bytes> reading) {
        return reading instanceof Reading.Value<Bytes>(var bytes) ? ProcStat.tryParse(bytes.text()) : Optional.empty();
    }

    private static String reason(Reading<Bytes> stat) {
        return stat instanceof Reading.Failed<Bytes>(var _, var reason) && !reason.isEmpty()
                ? reason
                : "its stat is unknown";
    }

    /**
     * A process that existed unchanged while its parts were read.
     *
     * @param uid its real uid; null if it could not be read, and then its environ is unavailable too
     * @param relations its place among the other processes; null if that changed while its parts were read
     */
    record ObservedProcess(
            ProcessId id,
            @Nullable Long uid,
            String command,
            ProgramEnviron environ,
            @Nullable Relations relations,
            boolean kernelThread,
            Reading<ProgramFile> executable,
            WorkloadReadings workload) {}
}
