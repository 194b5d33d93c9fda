package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whose part of the recorded past something is. Users choose how much is recorded of them. What is above a limit is taken from the largest
 * share, so that nobody displaces the past of another user.
 *
 * @param host empty if it is none of a single host
 * @param owner the account of the process, or else its uid; empty without a process, and if its uid may be anybody's
 */
public record Share(String host, String owner) {
    /** Begins the owner of a process whose account is not known; no name of an account has a colon. */
    public static final String UID = "uid:";

    /** Returns the share of a violation: its first process decides. */
    public static Share of(Violation violation) {
        return of(violation.host(), violation.processes().stream().findFirst());
    }

    /** Returns the share of what concerns this process, which is a fact of the kernel; empty for a claim of the state files. */
    public static Share of(@Nullable String host, Optional<GpuProcess> process) {
        return new Share(
                Objects.requireNonNullElse(host, ""),
                process.map(Share::ownerOf).orElse(""));
    }

    /** A subordinate uid is its account's, so its user cannot have many shares. */
    private static String ownerOf(GpuProcess process) {
        var user = process.user();
        if (user != null && user.by() == User.Source.ACCOUNT) {
            return SafeText.bounded(user.name());
        }
        var isAnybody = user == null && !process.isNameless();
        return isAnybody ? "" : UID + process.ownerOrUid();
    }

    /** Entries of all shares up to a limit. */
    static final class Entries<T> {
        private final int most;
        private final long maxSize;
        private final Function<T, Share> shareOf;
        private final ToLongFunction<T> sizeOf;
        private final Map<Share, Part<T>> parts = new LinkedHashMap<>();
        private int number;
        private long size;

        /** The entries of a share, oldest first. */
        private static final class Part<T> {
            private final Deque<T> entries = new ArrayDeque<>();
            private long size;
        }

        /**
         * @param most the largest number of entries
         * @param maxSize the largest sum of their sizes; each counts at least as if there were {@code most} of its size
         */
        Entries(int most, long maxSize, Function<T, Share> shareOf, ToLongFunction<T> sizeOf) {
            this.most = most;
            this.maxSize = maxSize;
            this.shareOf = shareOf;
            this.sizeOf = sizeOf;
        }

        /** Adds the newest entry of its share, and returns those that leave: the oldest ones of the largest shares. */
        List<T> add(T entry) {
            var part = parts.computeIfAbsent(shareOf.apply(entry), _ -> new Part<>());
            part.entries.addLast(entry);
            count(part, 1, entry);
            var removed = new ArrayList<T>();
            while (number > most || size > maxSize) {
                var oldest = parts.values().stream()
                        .max(Comparator.comparingLong(each -> each.size))
                        .orElseThrow()
                        .entries
                        .getFirst();
                remove(oldest);
                removed.add(oldest);
            }
            return removed;
        }

        void remove(T entry) {
            var share = shareOf.apply(entry);
            var part = parts.get(share);
            if (part != null && part.entries.removeFirstOccurrence(entry)) {
                count(part, -1, entry);
                if (part.entries.isEmpty()) {
                    parts.remove(share);
                }
            }
        }

        private void count(Part<T> part, int sign, T entry) {
            var its = sign * Math.max(sizeOf.applyAsLong(entry), maxSize / most);
            part.size += its;
            size += its;
            number += sign;
        }

        Stream<T> stream() {
            return parts.values().stream().flatMap(part -> part.entries.stream());
        }
    }
}
