package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Decides which process a reported pid belongs to. The driver reports the pid that opened {@code /dev/nvidiactl} as long as any process has
 * that file open: also after its process has exited, when another process can have the pid.
 */
final class ReportedProcesses {
    private static final long NONE = -1;

    /**
     * The largest start time with which a process can be the reported one, by pid; {@link #NONE} if none can. The pids are those of the last
     * report and, if that is incomplete, of the last complete one.
     */
    private Map<Integer, Long> latestStarts = Map.of();

    private Set<Integer> lastComplete = Set.of();
    private Set<Integer> absent = Set.of();
    private String boot = "";

    /**
     * @param processes the reported ones that exist
     * @param report without the pids whose processes had exited in the last observation too
     */
    record Present(List<ObservedProcess> processes, GpuReport report) {}

    /** Whether a reported process has exited, so that the next observation must read the used memory of the devices anew. */
    boolean needsDeviceMemory() {
        return !absent.isEmpty();
    }

    /**
     * Decides it for a report. If that is missing, nothing is forgotten. If it is incomplete, nothing is forgotten of the pids in the last
     * complete one: the lines of a GPU that cannot be read now may contain them.
     */
    Present observe(GpuReport report, HostFacts facts, Findings findings) {
        if (facts.machine().isAnotherBoot(boot)) {
            boot = facts.machine().bootId();
            latestStarts = Map.of(); // start times count from the boot
            lastComplete = Set.of();
        }
        if (report.missing().contains(SnapshotPart.PROCESSES)) {
            return new Present(List.of(), report);
        }
        var beforeListing = facts.machine().beforeListing();
        var byPid = facts.processes().stream()
                .collect(Collectors.toMap(ProcessFacts::pid, Function.identity(), (first, _) -> first));
        var present = new ArrayList<ObservedProcess>();
        var starts = new HashMap<Integer, Long>();
        var gone = new HashSet<Integer>();
        var others = new HashSet<Integer>();
        for (var pid : report.usage().keySet()) {
            var latest = latestStarts.get(pid);
            if (latest != null) {
                starts.put(pid, latest);
            }
            switch (ProcessIdentity.of(Objects.requireNonNull(byPid.get(pid)))) {
                case ProcessIdentity.Gone _ -> {
                    starts.put(pid, NONE);
                    gone.add(pid);
                }
                case ProcessIdentity.Unreadable(var reason) -> {
                    findings.add(ProblemCode.PROCESS_UNREADABLE, "process %d: %s".formatted(pid, reason));
                    findings.miss(SnapshotPart.EVERY_PROCESS);
                }
                case ProcessIdentity.Present(var process) -> {
                    var start = process.id().startTime();
                    if (latest != null && start > latest) {
                        others.add(pid);
                        reportReused(process, findings);
                    } else {
                        // It may have been started and listed after the clock was read. The next observation shows it.
                        starts.put(pid, start);
                        if (start <= beforeListing) {
                            present.add(process);
                        }
                    }
                }
            }
        }
        if (report.missing().contains(SnapshotPart.EVERY_PROCESS)) {
            latestStarts.entrySet().stream()
                    .filter(entry -> lastComplete.contains(entry.getKey()))
                    .forEach(entry -> starts.putIfAbsent(entry.getKey(), entry.getValue()));
        } else {
            lastComplete = Set.copyOf(report.usage().keySet());
        }
        gone.addAll(others);
        var exited = new HashSet<>(gone);
        exited.retainAll(absent);
        latestStarts = Map.copyOf(starts);
        absent = Set.copyOf(gone);
        return new Present(List.copyOf(present), report.without(exited));
    }

    private static void reportReused(ObservedProcess process, Findings findings) {
        findings.add(
                ProblemCode.PID_REUSED,
                "process %d of uid %s (%s) was started after its pid was listed: the listed process has exited"
                        .formatted(
                                process.pid(),
                                process.uid() == null ? "unknown" : process.uid(),
                                SafeText.escape(process.command())));
    }
}
