package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What the state of one machine said before. Users choose how much that is, so what is gone is kept within bounds. */
final class HostTestimony {
    private static final Duration KEEP = Duration.ofHours(1);
    private static final int MOST_GONE = 10_000;

    private final Ticker ticker;
    private final Map<String, EnvironmentTestimony> environments = new LinkedHashMap<>();
    private final Map<Integer, Gone<Change>> unlisted = new LinkedHashMap<>();
    private Set<Integer> listed = Set.of();

    /** The ticks of the look before, in which the environments that are new now were not there; null in the first one. */
    private @Nullable Long before;

    /** Something that is no longer there, and since when. */
    private record Gone<T>(T what, long since) {}

    private @Nullable String machine;
    private long thereAt;

    HostTestimony(Ticker ticker) {
        this.ticker = ticker;
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
            return;
        }
        if (before != null && ticks < before) {
            forget(); // it was started anew since: what lived then is dead, and the same numbers mean others now
        }
        hearPids(snapshot.environments());
        var living = snapshot.environmentsById();
        var named = snapshot.processesByEnvironment().keySet();
        environments.forEach((eid, memory) -> {
            if (!living.containsKey(eid)) {
                memory.died();
            }
        });
        var holders = holders(snapshot);
        living.forEach((eid, environment) -> environments
                .computeIfAbsent(eid, _ -> new EnvironmentTestimony(ticker))
                .hear(environment, holders, before, ticks));
        forget(living.keySet(), named);
        before = ticks;
    }

    void detached(String eid, int device) {
        var memory = environments.get(eid);
        if (memory != null) {
            memory.detached(device);
        }
    }

    @Nullable
    EnvironmentTestimony environment(String eid) {
        return environments.get(eid);
    }

    /** That no environment lists this pid any more. */
    @Nullable
    Change unlisted(int pid) {
        var gone = unlisted.get(pid);
        return gone == null ? null : gone.what;
    }

    /** A process without an id is safe as long as an environment lists its pid: to strike it out is to edit its entry. */
    private void hearPids(List<Environment> living) {
        var present = new HashSet<Integer>();
        living.forEach(environment -> present.addAll(environment.pids()));
        for (var pid : listed) {
            if (!present.contains(pid)) {
                var change =
                        new Change("an environment listed pid " + pid, "no environment lists pid " + pid, ticker.now());
                unlisted.put(pid, new Gone<>(change, ticker.mark()));
            }
        }
        unlisted.keySet().removeAll(present);
        listed = present;
    }

    /** Which environments hold each of the devices; of those that are described and exist, for a file can make up any. */
    private static Map<Integer, Set<String>> holders(Snapshot snapshot) {
        var holders = new HashMap<Integer, Set<String>>();
        if (snapshot.knows(Part.ATTACHMENTS)) {
            for (var device : snapshot.devices()) {
                if (snapshot.listedDevices().contains(device.index())) {
                    holders.put(
                            device.index(),
                            device.attachments().stream().map(Attachment::eid).collect(Collectors.toSet()));
                }
            }
        }
        return holders;
    }

    /** What nobody alive or at work refers to is forgotten after a while, and sooner where there is too much of it. */
    private void forget(Set<String> living, Set<String> named) {
        unlisted.values().removeIf(gone -> ticker.since(gone.since).compareTo(KEEP) > 0);
        environments.entrySet().removeIf(entry -> {
            var deadSince = entry.getValue().deadSince();
            return deadSince != null
                    && !named.contains(entry.getKey())
                    && ticker.since(deadSince).compareTo(KEEP) > 0;
        });
        dropOldest(unlisted.keySet(), unlisted.size() - MOST_GONE);
        var gone = environments.keySet().stream()
                .filter(eid -> !living.contains(eid) && !named.contains(eid))
                .toList();
        gone.stream().limit(Math.max(0, gone.size() - MOST_GONE)).forEach(environments::remove);
    }

    private void forget() {
        environments.clear();
        unlisted.clear();
        listed = Set.of();
        before = null;
    }

    private static void dropOldest(Set<Integer> keys, int count) {
        if (count > 0) {
            keys.stream().limit(count).toList().forEach(keys::remove);
        }
    }
}
