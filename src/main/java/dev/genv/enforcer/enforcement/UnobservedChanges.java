package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tells where the state may have been changed under a process before the service observed both. That is so at the first
 * complete observation of a process on a device, if the state was changed after the process was started. At a later one the
 * history of the state tells what was changed.
 */
final class UnobservedChanges {
    private static final Duration FORGOTTEN = Duration.ofHours(1);

    /** Users choose how many processes there are: of the absent ones no more than that are remembered. */
    private static final int MOST_REMEMBERED = 10_000;

    private final VisibleTime<Use> uses;
    private final Map<String, Long> changedAt = new HashMap<>();

    private record Use(HostProcess process, int device) {}

    UnobservedChanges(Ticker ticker) {
        uses = new VisibleTime<>(ticker);
    }

    /** Takes in a cycle. */
    void record(List<HostReport> hosts) {
        changedAt.clear();
        for (var host : hosts) {
            var changed = host.stateChangedAt();
            if (changed != null) {
                changedAt.put(host.host(), changed);
            }
        }
        uses.record(
                hosts.stream().flatMap(host -> judgedUses(host.snapshot())).collect(Collectors.toUnmodifiableSet()));
        uses.forget(FORGOTTEN, MOST_REMEMBERED);
    }

    /** Whether that may be so for one of these processes, on those of the devices that it uses. */
    boolean mayAffect(String host, Collection<GpuProcess> processes, Collection<Integer> devices) {
        var changed = changedAt.get(host);
        return changed != null
                && processes.stream()
                        .anyMatch(process -> process.id().startTime() <= changed && isFirstUse(host, process, devices));
    }

    /** The time that a use was observed for is zero at its first observation. */
    private boolean isFirstUse(String host, GpuProcess process, Collection<Integer> devices) {
        var used =
                uses(host, process).filter(use -> devices.contains(use.device)).toList();
        return !used.isEmpty() && used.stream().allMatch(use -> uses.of(use).isZero());
    }

    /** Where the rules could not judge a process, it was not observed. */
    private static Stream<Use> judgedUses(Snapshot snapshot) {
        return snapshot.knows(Part.PROCESSES, Part.ENVIRONMENTS, Part.ATTACHMENTS)
                ? snapshot.processes().stream()
                        .filter(process -> !(process.membership() instanceof Membership.Unknown))
                        .flatMap(process -> uses(snapshot.host(), process))
                : Stream.empty();
    }

    private static Stream<Use> uses(String host, GpuProcess process) {
        var target = new HostProcess(host, process.id());
        return process.devices().stream().map(device -> new Use(target, device));
    }
}
