package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Violation;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the state of one machine said before. Users choose how much that is, so what is kept is bounded in bytes. The history of
 * live environments is as large as the state file lets it be, and holds no text at full length. That of ended ones is dropped
 * after an hour, and beyond {@link #MOST_BYTES} those go first that ended first. What a process on a GPU names is always kept.
 */
final class HostTestimony {
    private static final Duration KEEP = Duration.ofHours(1);
    private static final long MOST_BYTES = 4 << 20;

    /** Of the devices that the GPU tool never listed, only those with a smaller index are recorded: a file can describe any. */
    private static final int MOST_UNLISTED_DEVICES = 64;

    private final Ticker ticker;
    private final Map<String, EnvironmentTestimony> environments = new LinkedHashMap<>();
    private DelistedPids delisted;
    private ObservedTime environmentsObserved;
    private ObservedTime attachmentsObserved;
    private final Map<Integer, ObservedTime> devicesObserved = new HashMap<>();

    /** Every device that the GPU tool ever listed. */
    private final Set<Integer> listed = new HashSet<>();

    /** The ticks of the look before, in which the environments that are new now were not there; null in the first one. */
    private @Nullable Long before;

    /** What the last complete listing showed: a process is still there while the GPU tool fails. */
    private OnGpu onGpu = OnGpu.of(List.of());

    private @Nullable String machine;
    private long thereAt;

    /** The pids of the processes on the GPUs, and the environments that they name. */
    private record OnGpu(Set<Integer> pids, Set<String> named) {
        static OnGpu of(List<GpuProcess> processes) {
            return new OnGpu(
                    processes.stream().map(GpuProcess::pid).collect(Collectors.toSet()),
                    processes.stream()
                            .flatMap(process -> process.membership() instanceof Membership.InEnvironment(var eid)
                                    ? Stream.of(BoundedText.of(eid))
                                    : Stream.empty())
                            .collect(Collectors.toSet()));
        }
    }

    HostTestimony(Ticker ticker) {
        this.ticker = ticker;
        delisted = new DelistedPids(ticker);
        environmentsObserved = new ObservedTime(ticker);
        attachmentsObserved = new ObservedTime(ticker);
        thereAt = ticker.mark();
    }

    /** Whether another machine goes by that name now, or the same one was started anew: numbers mean others there. */
    boolean isOtherThan(@Nullable String now) {
        return now != null && machine != null && !now.equals(machine);
    }

    /** The host is in the list; what machine it is, may not be known. */
    void isThere(@Nullable String which) {
        machine = which == null ? machine : which;
        thereAt = ticker.mark();
    }

    /** Whether the host left the list long ago. */
    boolean isLongGone() {
        return ticker.since(thereAt).compareTo(KEEP) > 0;
    }

    void hear(Snapshot snapshot, long ticks) {
        if (!snapshot.knows(Part.ENVIRONMENTS)) {
            environmentsObserved.interrupted();
            attachmentsObserved.interrupted();
            devicesObserved.values().forEach(ObservedTime::interrupted);
            return;
        }
        if (before != null && ticks < before) {
            forget(); // it was started anew since: what lived then is dead, and the same numbers mean others now
        }
        delisted.record(snapshot, ticks);
        var living = snapshot.environments().stream()
                .collect(Collectors.toMap(
                        environment -> BoundedText.of(environment.eid()), environment -> environment, (one, _) -> one));
        environments.forEach((eid, memory) -> {
            if (!living.containsKey(eid)) {
                memory.died();
            }
        });
        listed.addAll(snapshot.listedDevices());
        var holders = holders(snapshot);
        var observation = new EnvironmentTestimony.Observation(
                holders, before, ticks, !attachmentsObserved.hasBegun(), attachmentsObserved.now());
        living.forEach((eid, environment) -> environments
                .computeIfAbsent(eid, _ -> new EnvironmentTestimony(environment.eid(), ticker))
                .hear(environment, observation));
        environmentsObserved.observed(ticks);
        if (snapshot.knows(Part.ATTACHMENTS)) {
            attachmentsObserved.observed(ticks);
        } else {
            attachmentsObserved.interrupted();
        }
        for (var device : holders.keySet()) {
            devicesObserved
                    .computeIfAbsent(device, _ -> new ObservedTime(ticker))
                    .observed(ticks);
        }
        devicesObserved.forEach((device, observed) -> {
            if (!holders.containsKey(device)) {
                observed.interrupted();
            }
        });
        var now = OnGpu.of(snapshot.processes());
        if (snapshot.knows(Part.PROCESSES, Part.EVERY_PROCESS)) {
            onGpu = now;
        }
        delisted.forget(KEEP, union(onGpu.pids, now.pids));
        forgetEnded(union(onGpu.named, now.named));
        before = ticks;
    }

    void detached(String eid, int device) {
        var memory = environment(eid);
        if (memory != null) {
            memory.detached(device);
        }
    }

    @Nullable
    EnvironmentTestimony environment(String eid) {
        return environments.get(BoundedText.of(eid));
    }

    /** That no environment lists this process any more. */
    @Nullable
    Change delisting(GpuProcess process) {
        return delisted.change(process);
    }

    /** For how long the attachments have been observed. */
    ObservedTime attachmentsObserved() {
        return attachmentsObserved;
    }

    /** For how long the service has observed what a violation may rest on; nothing where no unseen change can be behind it. */
    Optional<Duration> observedFor(Violation cause, @Nullable GpuProcess process, String eid) {
        return observed(cause)
                .filter(observed -> mayHideAChange(observed, cause.rule(), process, eid))
                .map(ObservedTime::length)
                .min(Comparator.naturalOrder());
    }

    /**
     * Whether something may have been changed, of all that this rule goes by, before the service could see it. It cannot
     * where the process, if there is one, and the environment came later.
     */
    private boolean mayHideAChange(ObservedTime observed, RuleName rule, @Nullable GpuProcess process, String eid) {
        if (process != null && observed.isOlder(process.id().startTime())) {
            return true;
        }
        var environment = environment(eid);
        return rule != RuleName.NON_ENV_PROCESSES && (environment == null || environment.isOlderThan(observed));
    }

    private Stream<ObservedTime> observed(Violation cause) {
        return switch (cause.rule()) {
            case NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES, ENV_OWNER -> Stream.of(environmentsObserved);
            case ENV_MEMORY, MAX_DEVICES_PER_USER -> Stream.of(attachmentsObserved);
            case ENV_DEVICES ->
                Stream.concat(
                        Stream.of(attachmentsObserved),
                        cause.devices().stream()
                                .map(device -> devicesObserved.getOrDefault(device, new ObservedTime(ticker))));
        };
    }

    /** Which environments hold each of the described devices, also while the GPU tool lists none of them. */
    private Map<Integer, Set<String>> holders(Snapshot snapshot) {
        var holders = new HashMap<Integer, Set<String>>();
        if (snapshot.knows(Part.ATTACHMENTS)) {
            for (var device : snapshot.devices()) {
                var index = device.index();
                if (listed.contains(index) || (index >= 0 && index < MOST_UNLISTED_DEVICES)) {
                    holders.put(
                            index,
                            device.attachments().stream().map(Attachment::eid).collect(Collectors.toSet()));
                }
            }
        }
        return holders;
    }

    private static <T> Set<T> union(Set<T> one, Set<T> other) {
        return Stream.of(one, other).flatMap(Set::stream).collect(Collectors.toSet());
    }

    private void forgetEnded(Set<String> named) {
        environments.entrySet().removeIf(entry -> {
            var deadSince = entry.getValue().deadSince();
            return deadSince != null
                    && !named.contains(entry.getKey())
                    && ticker.since(deadSince).compareTo(KEEP) > 0;
        });
        var ended = environments.entrySet().stream()
                .filter(entry -> entry.getValue().deadSince() != null && !named.contains(entry.getKey()))
                .sorted(Comparator.comparingLong(
                        entry -> Objects.requireNonNull(entry.getValue().deadSince())))
                .toList();
        var bytes = ended.stream().mapToLong(entry -> entry.getValue().bytes()).sum();
        for (var entry : ended) {
            if (bytes <= MOST_BYTES) {
                return;
            }
            bytes -= entry.getValue().bytes();
            environments.remove(entry.getKey());
        }
    }

    private void forget() {
        environments.clear();
        delisted = new DelistedPids(ticker);
        environmentsObserved = new ObservedTime(ticker);
        attachmentsObserved = new ObservedTime(ticker);
        devicesObserved.clear();
        listed.clear();
        onGpu = OnGpu.of(List.of());
        before = null;
    }
}
