package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Pids that an environment listed before and no longer lists. A process without an environment id is in an environment as long
 * as that environment lists its pid, so removing the pid is a change of the state. Which user removed it is unknown: the owner of
 * the file is only the user who replaced it last. Therefore the entries are limited by the user of the process, whom the kernel
 * knows: the user with the most entries loses the oldest one first. The pid of a process on a GPU is always kept.
 */
public final class DelistedPids {
    private static final int MAX_ENTRIES = 10_000;
    private static final Long UID_UNKNOWN = -1L;

    private final Ticker ticker;
    private final Map<Integer, Delisted> delisted = new LinkedHashMap<>();
    private Map<Integer, Long> listed = Map.of();
    private long listedAt;

    /**
     * A pid that was removed.
     *
     * @param uid the user of the process: its real uid, or the owner of that subordinate uid
     * @param listedAt the ticks of the last observation in which it was listed
     */
    public record Delisted(Long uid, long listedAt, Instant at, long since) {}

    /** What is saved: the removed pids, oldest first, and the listed ones with their users. */
    public record Saved(List<Removed> removed, Map<Integer, Long> listed) {}

    /** A removed pid. */
    public record Removed(int pid, Delisted removal) {}

    DelistedPids(Ticker ticker) {
        this.ticker = ticker;
    }

    Saved save() {
        return new Saved(
                delisted.entrySet().stream()
                        .map(entry -> new Removed(entry.getKey(), entry.getValue()))
                        .toList(),
                listed);
    }

    /**
     * Restores saved pids.
     *
     * @param ticks the ticks of the last observation
     */
    static DelistedPids restore(Saved saved, long ticks, Ticker ticker) {
        var restored = new DelistedPids(ticker);
        saved.removed.forEach(each -> restored.delisted.put(each.pid, each.removal));
        restored.listed = Map.copyOf(saved.listed);
        restored.listedAt = ticks;
        return restored;
    }

    /** Records which pids the active environments list. */
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

    /** Returns the removal of this process's pid; null if another process has the pid now. */
    @Nullable
    StateChange change(GpuProcess process) {
        var gone = delisted.get(process.pid());
        return gone == null || process.id().startTime() >= gone.listedAt
                ? null
                : new StateChange(
                        "an environment listed pid " + process.pid(),
                        "no environment lists pid " + process.pid(),
                        gone.at);
    }

    /** Forgets the entries of at least this age and those above the limit, except these pids. */
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
        while (delisted.size() > MAX_ENTRIES && !largestFirst.isEmpty()) {
            var largest = largestFirst.remove();
            delisted.remove(largest.remove());
            if (!largest.isEmpty()) {
                largestFirst.add(largest);
            }
        }
    }
}
