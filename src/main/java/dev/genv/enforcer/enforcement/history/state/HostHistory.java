package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.ObservedTime;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.Attachment;
import dev.genv.enforcer.policy.definition.StateChangeKind;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the state of one machine recorded in earlier observations. Users choose how much they write, so the history is bounded in
 * bytes. For active environments, the size limit of the state file bounds it, and it holds no text at full length. The history of
 * ended environments is dropped after an hour, and above {@link #MAX_BYTES} from the one that ended first. An environment that a
 * process on a GPU names is always kept.
 */
final class HostHistory {
    private static final Duration KEEP = Duration.ofHours(1);
    private static final long MAX_BYTES = 4 << 20;

    /** Of the devices that the GPU tool never listed, only those with a smaller index are recorded, because users can describe any. */
    private static final int MAX_UNLISTED_DEVICES = 64;

    private final Ticker ticker;
    private final Map<String, EnvironmentHistory> environments = new LinkedHashMap<>();
    private DelistedPids delisted;
    private ObservedParts observed;

    /** Every device that the GPU tool ever listed. */
    private final Set<Integer> listed = new HashSet<>();

    /** The ticks of the previous observation, in which environments that are new now were absent; null in the first one. */
    private @Nullable Long before;

    /** The last complete listing of the GPU tool: it stands in while the tool fails. */
    private ListedProcesses onGpu = ListedProcesses.of(List.of());

    private @Nullable String machine;
    private long lastListedAt;

    HostHistory(Ticker ticker) {
        this.ticker = ticker;
        delisted = new DelistedPids(ticker);
        observed = new ObservedParts(ticker);
        lastListedAt = ticker.mark();
    }

    /** The ticks of the last observation; -1 if there is none. */
    long lastTicks() {
        return Objects.requireNonNullElse(before, -1L);
    }

    /**
     * Returns what is saved besides the environments.
     *
     * @param now the mark of the last cycle
     */
    SavedHost save(long now) {
        return new SavedHost(
                delisted.save(),
                observed.save(),
                Set.copyOf(listed),
                onGpu,
                machine,
                lastListedAt >= now ? null : lastListedAt);
    }

    /** Returns what is saved of each environment, by its id. */
    Map<String, SavedEnvironment> saveEnvironments() {
        var saved = new LinkedHashMap<String, SavedEnvironment>();
        environments.forEach((eid, environment) -> saved.put(eid, environment.save()));
        return saved;
    }

    /**
     * Restores a host.
     *
     * @param last the mark of the last cycle
     * @param ticks the ticks of the last observation; -1 if there is none
     */
    static HostHistory restore(
            SavedHost saved, Map<String, SavedEnvironment> environments, long last, long ticks, Ticker ticker) {
        var restored = new HostHistory(ticker);
        environments.forEach(
                (eid, environment) -> restored.environments.put(eid, EnvironmentHistory.restore(environment, ticker)));
        restored.delisted = DelistedPids.restore(saved.delisted(), ticks, ticker);
        restored.observed = ObservedParts.restore(saved.observed(), last, ticker);
        restored.listed.addAll(saved.listed());
        restored.onGpu = saved.onGpu();
        restored.machine = saved.machine();
        restored.lastListedAt = Objects.requireNonNullElse(saved.lastListedAt(), last);
        restored.before = ticks < 0 ? null : ticks;
        return restored;
    }

    /** Whether another machine has this name now, or the machine was rebooted: pids then belong to other processes. */
    boolean isOtherMachine(@Nullable String now) {
        return now != null && machine != null && !now.equals(machine);
    }

    /** Records that the host is in the list, and which machine it is if that is known. */
    void recordMachine(@Nullable String which) {
        machine = which == null ? machine : which;
        lastListedAt = ticker.mark();
    }

    /** Whether the host left the list long ago. */
    boolean isExpired() {
        return ticker.since(lastListedAt).compareTo(KEEP) > 0;
    }

    void record(Snapshot snapshot, long ticks) {
        if (!snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            observed.interrupted();
            return;
        }
        if (before != null && ticks < before) {
            forget(); // the machine was rebooted: earlier processes are gone, and their pids belong to others
        }
        delisted.record(snapshot, ticks);
        var living = snapshot.environments().stream()
                .collect(Collectors.toMap(
                        environment -> BoundedText.of(environment.eid()), environment -> environment, (one, _) -> one));
        environments.forEach((eid, memory) -> {
            if (!living.containsKey(eid)) {
                memory.recordEnd();
            }
        });
        listed.addAll(snapshot.listedDevices());
        var holders = holders(snapshot);
        var observation = new EnvironmentHistory.Observation(
                holders,
                before,
                ticks,
                !attachmentsObserved().hasBegun(),
                attachmentsObserved().now());
        living.forEach((eid, environment) -> environments
                .computeIfAbsent(eid, _ -> new EnvironmentHistory(SafeText.escape(environment.eid()), ticker))
                .record(environment, observation));
        observed.observed(ticks, snapshot.has(SnapshotPart.ATTACHMENTS), holders.keySet());
        var now = ListedProcesses.of(snapshot.allProcesses());
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS, SnapshotPart.EVERY_ENVIRON)) {
            onGpu = now;
        }
        var all = onGpu.with(now);
        delisted.forget(KEEP, all.pids());
        forgetEnded(all.named());
        before = ticks;
    }

    void detached(String eid, int device) {
        Optional.ofNullable(environment(eid))
                .ifPresent(memory -> memory.attachments().detached(device));
    }

    @Nullable
    EnvironmentHistory environment(String eid) {
        return environments.get(BoundedText.of(eid));
    }

    /** Returns the removal of this process's pid from an environment. */
    @Nullable
    StateChange delisting(GpuProcess process) {
        return delisted.change(process);
    }

    /** Returns how long the attachments have been observed. */
    ObservedTime attachmentsObserved() {
        return observed.attachments();
    }

    /** Returns how long the service has observed the state that such a change concerns; empty if no unobserved change can be the
     * reason of the violation. */
    Optional<Duration> observedFor(StateChangeKind kind, Violation cause, @Nullable GpuProcess process, String eid) {
        return observed.of(kind, cause)
                .filter(part -> mayHideChange(part, kind, process, eid))
                .map(ObservedTime::length)
                .min(Comparator.naturalOrder());
    }

    /**
     * Whether such a change may have happened before the service observed the state. It cannot if the process, if any, and the
     * environment appeared later.
     */
    private boolean mayHideChange(ObservedTime part, StateChangeKind kind, @Nullable GpuProcess process, String eid) {
        if (process != null && part.isOlder(process.id().startTime())) {
            return true;
        }
        var environment = environment(eid);
        return kind != StateChangeKind.PID_REMOVED && (environment == null || environment.isOlderThan(part));
    }

    /** Returns the environments that each described device is attached to, also while the GPU tool lists no device. */
    private Map<Integer, Set<String>> holders(Snapshot snapshot) {
        var holders = new HashMap<Integer, Set<String>>();
        if (snapshot.has(SnapshotPart.ATTACHMENTS)) {
            for (var device : snapshot.devices()) {
                var index = device.index();
                if (listed.contains(index) || (index >= 0 && index < MAX_UNLISTED_DEVICES)) {
                    holders.put(
                            index,
                            device.attachments().stream().map(Attachment::eid).collect(Collectors.toSet()));
                }
            }
        }
        return holders;
    }

    private void forgetEnded(Set<String> named) {
        var ended = environments.entrySet().stream()
                .filter(entry -> entry.getValue().deadSince() != null && !named.contains(entry.getKey()))
                .sorted(Comparator.comparingLong(entry -> deadSince(entry.getValue())))
                .toList();
        var bytes = ended.stream().mapToLong(entry -> entry.getValue().bytes()).sum();
        for (var entry : ended) {
            if (bytes <= MAX_BYTES && ticker.since(deadSince(entry.getValue())).compareTo(KEEP) <= 0) {
                return;
            }
            bytes -= entry.getValue().bytes();
            environments.remove(entry.getKey());
        }
    }

    private static long deadSince(EnvironmentHistory ended) {
        return Objects.requireNonNull(ended.deadSince());
    }

    private void forget() {
        environments.clear();
        delisted = new DelistedPids(ticker);
        observed = new ObservedParts(ticker);
        listed.clear();
        onGpu = ListedProcesses.of(List.of());
        before = null;
    }
}
