package dev.genv.enforcer.enforcement.violation;

import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.stream.Stream;

/** The latest resolved violations. Users influence their number and their texts, so both are bounded. */
final class ResolvedViolations {
    /** Estimated heap: enough for ten thousand entries with texts of genv's usual length. */
    static final long MAX_BYTES = 16L << 20;

    private final int most;
    private final long maxBytes;
    private final Deque<ViolationRecord> newestFirst = new ArrayDeque<>();
    private long bytes;

    ResolvedViolations(int most, long maxBytes) {
        this.most = most;
        this.maxBytes = maxBytes;
    }

    /** Adds an entry, and drops the oldest ones above the limits. */
    void add(ViolationRecord entry) {
        newestFirst.addFirst(entry);
        bytes += ViolationSize.of(entry);
        while (newestFirst.size() > most || bytes > maxBytes) {
            bytes -= ViolationSize.of(newestFirst.removeLast());
        }
    }

    /** Removes the newest entry with this key. */
    Optional<ViolationRecord> remove(Violation.Key key) {
        var found = newestFirst.stream()
                .filter(entry -> entry.violation().key().equals(key))
                .findFirst();
        found.ifPresent(entry -> {
            newestFirst.remove(entry);
            bytes -= ViolationSize.of(entry);
        });
        return found;
    }

    Stream<ViolationRecord> stream() {
        return newestFirst.stream();
    }
}
