package dev.genv.enforcer.node;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.ToolException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The processes that the GPU tool lists, each with what the kernel knows of it. */
final class GpuProcesses {
    private final NvidiaSmi gpus;
    private final ProcessProbe probe;
    private final Spared spared;

    GpuProcesses(NvidiaSmi gpus, ProcessProbe probe, Spared spared) {
        this.gpus = gpus;
        this.probe = probe;
        this.spared = spared;
    }

    /** What was found, with what each process says of itself as its membership. */
    record Found(Set<Integer> devices, List<GpuProcess> processes) {
        static final Found NONE = new Found(Set.of(), List.of());
    }

    Found list(List<Problem> problems, Set<Part> missing) throws InterruptedException {
        try {
            var before = KernelClock.ticks();
            var listing = gpus.list();
            listing.report(problems, missing);
            var processes = new ArrayList<GpuProcess>();
            for (var entry : listing.usage().entrySet()) {
                see(entry.getKey(), before, problems, missing)
                        .map(who -> new GpuProcess(
                                who.id(),
                                who.uid(),
                                who.command(),
                                who.membership(),
                                entry.getValue(),
                                spared.immunity(who)))
                        .ifPresent(processes::add);
            }
            return new Found(listing.devices(), processes);
        } catch (ToolException e) {
            return lost(new Problem(e.code(), String.valueOf(e.getMessage())), problems, missing);
        } catch (IOException e) {
            return lost(new Problem("proc_unreadable", String.valueOf(e.getMessage())), problems, missing);
        }
    }

    private Optional<ProcessProbe.Seen> see(int pid, long before, List<Problem> problems, Set<Part> missing) {
        try {
            // Whoever was started since then has only the pid of the one that was listed.
            return probe.see(pid).filter(seen -> seen.id().startTime() <= before);
        } catch (IOException e) {
            missing.add(Part.EVERY_PROCESS);
            problems.add(new Problem("process_unreadable", "process %d: %s".formatted(pid, e.getMessage())));
            return Optional.empty();
        }
    }

    private static Found lost(Problem why, List<Problem> problems, Set<Part> missing) {
        problems.add(why);
        missing.add(Part.PROCESSES);
        return Found.NONE;
    }
}
