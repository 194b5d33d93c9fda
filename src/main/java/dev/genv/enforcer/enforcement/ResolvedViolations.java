package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The violations that were resolved last. Users choose their number and their texts: both are bounded. */
final class ResolvedViolations {
    /** Of heap, as it is estimated: ten thousand entries with texts as genv writes them. */
    static final long MOST_BYTES = 16L << 20;

    /** An entry, its violation, their ids and times. */
    private static final int ENTRY = 400;

    private static final int PROCESS = 160;
    private static final int ACTION = 120;
    private static final int NUMBER = 24;
    private static final int TEXT = 48;
    private static final int BYTES_PER_CHAR = 2;

    private final int most;
    private final long mostBytes;
    private final Deque<JournalEntry> newestFirst = new ArrayDeque<>();
    private long bytes;

    ResolvedViolations(int most, long mostBytes) {
        this.most = most;
        this.mostBytes = mostBytes;
    }

    /** Adds it, and drops the oldest ones that there is no room for. */
    void add(JournalEntry entry) {
        newestFirst.addFirst(entry);
        bytes += size(entry);
        while (newestFirst.size() > most || bytes > mostBytes) {
            bytes -= size(newestFirst.removeLast());
        }
    }

    /** Takes the newest one of that key out. */
    Optional<JournalEntry> remove(Violation.Key key) {
        var found = newestFirst.stream()
                .filter(entry -> entry.violation().key().equals(key))
                .findFirst();
        found.ifPresent(entry -> {
            newestFirst.remove(entry);
            bytes -= size(entry);
        });
        return found;
    }

    Stream<JournalEntry> stream() {
        return newestFirst.stream();
    }

    /** The estimated heap that an entry takes. */
    static long size(JournalEntry entry) {
        var violation = entry.violation();
        var change = entry.change();
        return ENTRY
                + size(violation.message())
                + size(violation.subject())
                + size(violation.user())
                + size(violation.environment())
                + violation.hosts().stream().mapToLong(ResolvedViolations::size).sum()
                + NUMBER * (long) violation.devices().size()
                + violation.processes().stream()
                        .mapToLong(ResolvedViolations::size)
                        .sum()
                + entry.actions().stream().mapToLong(ResolvedViolations::size).sum()
                + (change == null ? 0 : size(change.before()) + size(change.after()));
    }

    private static long size(GpuProcess process) {
        var eid = process.membership() instanceof Membership.InEnvironment(var id) ? id : null;
        return PROCESS + NUMBER * (long) process.usage().size() + size(process.command()) + size(eid);
    }

    private static long size(JournalEntry.ActionNote action) {
        return ACTION + size(action.environment()) + size(action.detail());
    }

    private static long size(@Nullable String text) {
        return text == null ? 0 : TEXT + BYTES_PER_CHAR * (long) text.length();
    }
}
