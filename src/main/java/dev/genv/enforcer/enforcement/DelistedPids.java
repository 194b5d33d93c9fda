package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The pids that environments listed and list no longer. A process without an id is safe as long as an environment lists its
 * pid: to strike it out is to edit that environment's entry. Which user did that is not known: the owner of the file is
 * only the user who replaced it last. So the memory is shared among the users of the processes, whom the kernel knows: the
 * user with the most of them loses the oldest first. The pid of a process that is on a GPU is always kept.
 */
final class DelistedPids {
    private static final int MOST = 10_000;
    private static final Long UID_UNKNOWN = -1L;

    private final Ticker ticker;
    private final Map<Integer, Delisted> delisted = new LinkedHashMap<>();
    private Map<Integer, Long> listed = Map.of();
    private long listedAt;

    /**
     * One of them.
     *
     * @param uid the user of the process: its real uid, or the owner of that subordinate uid
     * @param listedAt the ticks of the last observation in which it was listed
     */
    private record Delisted(Long uid, long listedAt, Instant at, long since) {}

    DelistedPids(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Takes in which pids the live environments list now. */
    void record(Snapshot snapshot, long ticks) {
        var present = new HashMap<Integer, Long>();
        for (var environment : snapshot.environments()) {
            for (var pid : environment.pids()) {
                var user =
                        snapshot.subordinateUids().ownerOf(snapshot.uidsOfPids().get(pid));
                present.put(pid, Objects.requireNonNullElse(user, UID_UNKNOWN));
            }
        }
        listed.forEach((pid, uid) -> {
            if (!present.containsKey(pid)) {
                delisted.put(pid, new Delisted(uid, listedAt, ticker.now(), ticker.mark()));
            }
        });
        delisted.keySet().removeAll(present.keySet());
        listed = present;
        listedAt = ticks;
    }

    /** That no environment lists this process any more; null for another process that has the pid now. */
    @Nullable
    Change change(GpuProcess process) {
        var gone = delisted.get(process.pid());
        return gone == null || process.id().startTime() >= gone.listedAt
                ? null
                : new Change(
                        "an environment listed pid " + process.pid(),
                        "no environment lists pid " + process.pid(),
                        gone.at);
    }

    /** Forgets those that are that old, and those that are too many, but for these. */
    void forget(Duration age, Set<Integer> onGpu) {
        delisted.entrySet()
                .removeIf(entry -> !onGpu.contains(entry.getKey())
                        && ticker.since(entry.getValue().since).compareTo(age) > 0);
        var byUid = new HashMap<Long, Deque<Integer>>();
        delisted.forEach((pid, gone) -> {
            if (!onGpu.contains(pid)) {
                byUid.computeIfAbsent(gone.uid, _ -> new ArrayDeque<>()).add(pid);
            }
        });
        var largestFirst = new PriorityQueue<Deque<Integer>>(Comparator.comparingInt(pids -> -pids.size()));
        largestFirst.addAll(byUid.values());
        while (delisted.size() > MOST && !largestFirst.isEmpty()) {
            var largest = largestFirst.remove();
            delisted.remove(largest.remove());
            if (!largest.isEmpty()) {
                largestFirst.add(largest);
            }
        }
    }
}
