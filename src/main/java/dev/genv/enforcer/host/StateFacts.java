package dev.genv.enforcer.host;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * genv's state directory, and the two state files in it as they were at one moment.
 *
 * @param lock what came of taking genv's lock; {@link LockFacts#NOT_ATTEMPTED} if there is no directory to read
 */
public record StateFacts(Directory directory, LockFacts lock, StateFile envs, StateFile devices) {
    /** Whether another reading found the same. */
    public boolean isSame(StateFacts other) {
        return directory.equals(other.directory) && envs.equals(other.envs) && devices.equals(other.devices);
    }

    /** Returns the facts with the time that an earlier reading waited for the lock added to the time of this one. */
    public StateFacts after(StateFacts earlier) {
        return new StateFacts(directory, lock.after(earlier.lock), envs, devices);
    }

    public sealed interface Directory {
        /**
         * It was read.
         *
         * @param born the creation time in nanoseconds, because a file system may reuse an inode number; 0 if unknown
         */
        record Present(FileId id, long born) implements Directory {}

        record Absent() implements Directory {}

        /**
         * It was not accessed, because this user serves a file system (FUSE) that is mounted over it or in it, and decides what is read there.
         *
         * @param type such as {@code fuse.sshfs}
         * @param point where it is mounted
         */
        record UserMount(long uid, String type, String point) implements Directory {}

        /**
         * Only a mount of the service's container still leads there: the host's path leads to another directory now.
         *
         * @param onHost that path; empty if the directory was removed
         */
        record Stale(String onHost) implements Directory {}

        /** The reason is a clause. {@link Reading.Failure#TIMEOUT} also stands for earlier accesses that have not returned. */
        record Unreadable(Reading.Failure failure, String reason) implements Directory {}
    }

    public sealed interface StateFile {
        /** In bytes. The parsed environments of a file of this size need less memory than the limit; both files are held at once. */
        int LARGEST = 6 << 20;

        record Present(Bytes content) implements StateFile {}

        record Absent() implements StateFile {}

        /**
         * It was not read.
         *
         * @param number that of the cause; 0 if it has none
         * @param reason the kernel's text, for {@link Cause#OTHER}; otherwise empty
         */
        record Unreadable(Cause cause, long number, String reason) implements StateFile {}

        enum Cause {
            SYMBOLIC_LINK,
            NOT_REGULAR,
            /** It is closed to other users and has this number of hard links: it may be a secret that no report may show. */
            CLOSED,
            /** It is larger than this number of bytes. */
            TOO_LARGE,
            DENIED,
            CHANGED_WHILE_READ,
            CHANGES_WITHOUT_LOCK,
            OTHER
        }
    }

    /** The identity of a file; {@code st_dev} has the form of the machine. */
    public record FileId(long device, long inode) {}

    /**
     * What came of taking genv's lock.
     *
     * @param reason a clause such as {@code is not a regular file}; empty unless it is unusable
     * @param limit of the wait
     * @param waited how long the observation waited for it; null if it did not, or if that is unknown
     * @param holders the processes that {@code /proc/locks} shows as its holders, at most 20
     */
    public record LockFacts(
            Outcome outcome,
            String reason,
            Duration limit,
            @Nullable Duration waited,
            Reading<List<Holder>> holders) {
        public static final LockFacts NOT_ATTEMPTED =
                new LockFacts(Outcome.NOT_ATTEMPTED, "", Duration.ZERO, null, Reading.of(List.of()));

        /** Returns the facts with the time that an earlier reading waited added to the time of this one. */
        LockFacts after(LockFacts earlier) {
            return waited == null || earlier.waited == null
                    ? this
                    : new LockFacts(outcome, reason, limit, waited.plus(earlier.waited), holders);
        }

        public enum Outcome {
            /** While the files were read; also if there is no lock file. */
            HELD,
            /** Another program held it for longer than the limit. */
            TIMEOUT,
            UNUSABLE,
            NOT_ATTEMPTED
        }

        /**
         * A process that holds the lock.
         *
         * @param pid 0 or negative in another PID namespace
         * @param stat {@code /proc/PID/stat}; {@link Reading.Failure#ABSENT} if there is no such process
         * @param uid the real one; {@link Reading.Failure#ABSENT} if there is no such process
         */
        public record Holder(int pid, Reading<Bytes> stat, Reading<Long> uid) {}
    }
}
