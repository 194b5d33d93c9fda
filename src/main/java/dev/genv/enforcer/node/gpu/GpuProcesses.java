package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.node.linux.KernelClock;
import dev.genv.enforcer.node.proc.ProcessProbe;
import dev.genv.enforcer.node.protection.ImmunityCheck;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Combines the processes that the GPU tool lists with the kernel's facts about each one. */
public final class GpuProcesses {
    private final NvidiaSmi gpus;
    private final ProcessProbe probe;
    private final ImmunityCheck immunityCheck;

    public GpuProcesses(NvidiaSmi gpus, ProcessProbe probe, ImmunityCheck immunityCheck) {
        this.gpus = gpus;
        this.probe = probe;
        this.immunityCheck = immunityCheck;
    }

    /** The listed processes, each with the membership that its environ names. */
    public record Listing(Set<Integer> devices, List<GpuProcess> processes) {
        public static final Listing NONE = new Listing(Set.of(), List.of());
    }

    public Listing list(List<Problem> problems, Set<SnapshotPart> missing) throws InterruptedException {
        try {
            var before = KernelClock.ticks();
            var found = gpus.list();
            problems.addAll(found.problems());
            missing.addAll(found.missing());
            var listing = found.value();
            var processes = new ArrayList<GpuProcess>();
            for (var entry : listing.usage().entrySet()) {
                observe(entry.getKey(), before, problems, missing)
                        .map(who -> new GpuProcess(
                                who.id(),
                                who.uid(),
                                who.command(),
                                who.membership(),
                                entry.getValue(),
                                immunityCheck.immunity(who)))
                        .ifPresent(processes::add);
            }
            return new Listing(listing.devices(), processes);
        } catch (ToolException e) {
            return reportMissing(new Problem(e.code(), String.valueOf(e.getMessage())), problems, missing);
        } catch (IOException e) {
            return reportMissing(
                    new Problem(ProblemCode.PROC_UNREADABLE, String.valueOf(e.getMessage())), problems, missing);
        }
    }

    private Optional<ProcessProbe.ObservedProcess> observe(
            int pid, long before, List<Problem> problems, Set<SnapshotPart> missing) {
        try {
            // A process that was started later only reuses the pid of the listed one.
            return probe.observe(pid).filter(process -> process.id().startTime() <= before);
        } catch (IOException e) {
            missing.add(SnapshotPart.EVERY_PROCESS);
            problems.add(new Problem(ProblemCode.PROCESS_UNREADABLE, "process %d: %s".formatted(pid, e.getMessage())));
            return Optional.empty();
        }
    }

    private static Listing reportMissing(Problem why, List<Problem> problems, Set<SnapshotPart> missing) {
        problems.add(why);
        missing.add(SnapshotPart.PROCESSES);
        return Listing.NONE;
    }
}
