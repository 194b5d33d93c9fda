package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.VisibleTime;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Decides whether the state may have changed after the start of a process, before the service observed both. That is possible at the
 * first complete observation of a process on a device, if a state file was changed after the process started. In later observations
 * the state history shows each change. A capacity limits memory that the process may allocate only later, so for it the first
 * observation stays decisive.
 */
public final class UnobservedChanges {
    private static final Duration RETENTION = Duration.ofHours(1);

    /** The largest number of absent processes that are remembered, because users choose the number of processes. */
    private static final int MAX_REMEMBERED = 10_000;

    private final VisibleTime<Use> uses;
    private final Map<String, Long> changedAt = new HashMap<>();

    /** The remembered uses before whose first observation the state was changed, and after the start of the process. */
    private final Set<Use> begunBeforeChange = new HashSet<>();

    /** The use of a device by a process. */
    public record Use(HostProcess process, int device) {}

    /**
     * What is saved of a use.
     *
     * @param begunBeforeChange whether the state was changed between the start of the process and its first observation
     */
    public record SavedUse(VisibleTime.Visibility visibility, boolean begunBeforeChange) {}

    UnobservedChanges(Ticker ticker) {
        uses = new VisibleTime<>(ticker);
    }

    Map<Use, SavedUse> save() {
        var saved = new HashMap<Use, SavedUse>();
        uses.save()
                .forEach(
                        (use, visibility) -> saved.put(use, new SavedUse(visibility, begunBeforeChange.contains(use))));
        return saved;
    }

    void restore(Map<Use, SavedUse> saved) {
        var visibilities = new HashMap<Use, VisibleTime.Visibility>();
        saved.forEach((use, was) -> {
            visibilities.put(use, was.visibility);
            if (was.begunBeforeChange) {
                begunBeforeChange.add(use);
            }
        });
        uses.restore(visibilities);
    }

    /** Records a cycle. */
    void record(List<HostReport> hosts) {
        changedAt.clear();
        for (var host : hosts) {
            var changed = host.stateChangedAt();
            if (changed != null) {
                changedAt.put(host.host(), changed);
            }
        }
        var found =
                hosts.stream().flatMap(host -> checkedUses(host.snapshot())).collect(Collectors.toUnmodifiableSet());
        found.stream()
                .filter(use -> !uses.isRemembered(use) && isBeforeChange(use.process))
                .forEach(begunBeforeChange::add);
        uses.record(found);
        uses.forget(RETENTION, MAX_REMEMBERED);
        begunBeforeChange.removeIf(use -> !uses.isRemembered(use));
    }

    /** Whether such a change is possible for one of these processes on its devices, and they are observed for the first time. */
    boolean mayAffect(String host, Collection<GpuProcess> processes, Collection<Integer> devices) {
        return processes.stream()
                .anyMatch(process -> isBeforeChange(new HostProcess(host, process.id()))
                        && allUses(host, process, devices, this::isFirstObserved));
    }

    /** Whether such a change was possible at the first observation of one of these processes on its devices. */
    boolean mayHaveAffected(String host, Collection<GpuProcess> processes, Collection<Integer> devices) {
        return processes.stream().anyMatch(process -> allUses(host, process, devices, begunBeforeChange::contains));
    }

    private boolean isBeforeChange(HostProcess process) {
        var changed = changedAt.get(process.host());
        return changed != null && process.id().startTime() <= changed;
    }

    /** The observed time of a use is zero at its first observation. */
    private boolean isFirstObserved(Use use) {
        return uses.durationOf(use).isZero();
    }

    private static boolean allUses(
            String host, GpuProcess process, Collection<Integer> devices, Predicate<Use> condition) {
        var used =
                uses(host, process).filter(use -> devices.contains(use.device)).toList();
        return !used.isEmpty() && used.stream().allMatch(condition);
    }

    /** A process that the rules could not check counts as not observed. */
    private static Stream<Use> checkedUses(Snapshot snapshot) {
        return snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)
                ? snapshot.allProcesses().stream()
                        .filter(process -> !(process.membership() instanceof Membership.Unknown))
                        .flatMap(process -> uses(snapshot.host(), process))
                : Stream.empty();
    }

    private static Stream<Use> uses(String host, GpuProcess process) {
        var target = new HostProcess(host, process.id());
        return process.devices().stream().map(device -> new Use(target, device));
    }
}
