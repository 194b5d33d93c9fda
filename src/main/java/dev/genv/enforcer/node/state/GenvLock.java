package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Holder;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * genv's own lock (flock). It is held only for file access, because every user's shell waits for it. Every user can replace its file, or hold
 * the lock for ever.
 */
final class GenvLock implements AutoCloseable {
    static final String NAME = "genv.lock";
    private static final int MODE = 0666;
    private static final long PAUSE_MILLIS = 10;

    private final StateDirectory directory;
    private final Duration limit;
    private final boolean create;
    private final long start = System.nanoTime();
    private @Nullable Descriptor file;
    private Outcome outcome = Outcome.NOT_ATTEMPTED;
    private String reason = "";
    private Duration waited = Duration.ZERO;

    /**
     * Creates a lock that is not yet taken.
     *
     * @param limit of the time from now on, for all attempts
     * @param create whether to create the lock file if there is none; otherwise the lock is free then
     */
    GenvLock(StateDirectory directory, Duration limit, boolean create) {
        this.directory = directory;
        this.limit = limit;
        this.create = create;
    }

    /** Waits for the lock, with its file open meanwhile. Returns whether it is held, or free. */
    boolean take() throws IOException, InterruptedException {
        while (true) {
            if (file != null && !isInPlace()) {
                close();
            }
            var isFinal = attempt();
            waited = Duration.ofNanos(System.nanoTime() - start);
            if (isFinal || !hasTime()) {
                return outcome == Outcome.HELD;
            }
            Thread.sleep(PAUSE_MILLIS);
        }
    }

    private boolean hasTime() {
        return waited.compareTo(limit) < 0;
    }

    /** Sets the outcome and the reason. Returns whether a further attempt is useless. */
    private boolean attempt() throws IOException {
        var opened = file;
        if (opened == null) {
            try {
                opened = open();
            } catch (Errno e) {
                return refuse(e);
            }
            file = opened;
        }
        if (opened != null && !opened.status().isRegular()) {
            return refuse("is not a regular file", true);
        }
        if (opened != null && !opened.tryLock()) {
            outcome = Outcome.TIMEOUT;
            reason = "";
            return false;
        }
        if (opened != null && !isInPlace()) {
            return refuse("is replaced repeatedly", false);
        }
        outcome = Outcome.HELD;
        reason = "";
        return true;
    }

    /** Returns null if there is no lock file and none is to be created. */
    private @Nullable Descriptor open() throws Errno {
        try {
            return directory.open(NAME);
        } catch (Errno e) {
            if (!e.is(Errno.ENOENT)) {
                throw e;
            }
        }
        if (!create) {
            return null;
        }
        var created = directory.folder().open(NAME, FileCalls.O_RDONLY | FileCalls.O_CREAT | FileCalls.O_EXCL, MODE);
        created.setMode(MODE);
        return created;
    }

    private boolean refuse(Errno why) {
        if (why.is(Errno.EAGAIN)) {
            return refuse("is kept from being opened by its owner (fcntl F_SETLEASE)", false);
        }
        return why.is(Errno.EEXIST)
                ? refuse("is created and removed repeatedly", false)
                : refuse(why.is(Errno.ELOOP) ? "is a symbolic link" : "cannot be opened: " + why.getMessage(), true);
    }

    private boolean refuse(String why, boolean isFinal) {
        outcome = Outcome.UNUSABLE;
        reason = why;
        return isFinal;
    }

    /** Whether the lock still excludes others: not if its file was removed or replaced. */
    boolean isInPlace() throws IOException {
        return directory.folder().has(NAME, requireNonNull(file).status());
    }

    /** Whether it is held, or still free: if the file was created in between, another program may have written. */
    boolean isStillHeld() throws IOException {
        return file != null || directory.folder().find(NAME) == null;
    }

    /** Attempts it again because it is no longer free. Returns whether it is held, or free. */
    boolean retake() throws IOException, InterruptedException {
        refuse("is created and removed repeatedly", false);
        return hasTime() && take();
    }

    /** Returns the facts of the last attempt, with the holders of a lock that is not available. */
    LockFacts facts(LockHolders holders, Duration configured) throws IOException {
        var held = outcome == Outcome.TIMEOUT
                ? holders.holders(requireNonNull(file).status())
                : Reading.of(List.<Holder>of());
        return new LockFacts(outcome, reason, configured, waited, held);
    }

    IOException failure() {
        var why = outcome == Outcome.TIMEOUT
                ? "is held by another program, for longer than %d ms".formatted(limit.toMillis())
                : reason;
        return new IOException(NAME + " " + why);
    }

    /** Closing the descriptor releases the lock. */
    @Override
    public void close() {
        if (file != null) {
            file.close();
            file = null;
        }
    }

    /** Finds the holder of a file's flock(2) lock in {@code /proc/locks}. */
    record LockHolders(ProcFs proc) {
        /** Such as {@code 1: FLOCK  ADVISORY  WRITE 812 fe:00:2147295 0 EOF}; a process that waits has an arrow in front. */
        private static final Pattern LINE = Pattern.compile(
                "\\d+: FLOCK +\\w+ +\\w+ +(-?\\d{1,9}) +(\\p{XDigit}{1,6}):(\\p{XDigit}{1,6}):(\\d+) .*");

        /** Users choose their number. */
        private static final int MOST_HOLDERS = 20;

        /** Returns the pid of the holder; empty if unknown. */
        Optional<Integer> pid(FileStatus file) {
            try {
                return pids(file).stream().filter(pid -> pid > 0).findFirst();
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        /** Returns the holders, up to {@link #MOST_HOLDERS}. */
        Reading<List<Holder>> holders(FileStatus file) {
            return ProcFs.reading(() -> Reading.of(pids(file).stream()
                    .limit(MOST_HOLDERS)
                    .map(pid -> new Holder(pid, proc.stat(pid), proc.uid(pid)))
                    .toList()));
        }

        /** Some file systems, such as btrfs, show another device number there than in stat(2); then the inode alone decides. */
        private SequencedSet<Integer> pids(FileStatus file) throws IOException {
            var exact = new LinkedHashSet<Integer>();
            var byDevice = new LinkedHashMap<Long, SequencedSet<Integer>>();
            var inode = Long.toUnsignedString(file.inode());
            for (var line : proc.machine().locks()) {
                var lock = LINE.matcher(line);
                if (lock.matches() && lock.group(4).equals(inode)) {
                    var device =
                            FileStatus.device(Integer.parseInt(lock.group(2), 16), Integer.parseInt(lock.group(3), 16));
                    (device == file.device() ? exact : byDevice.computeIfAbsent(device, _ -> new LinkedHashSet<>()))
                            .add(Integer.parseInt(lock.group(1)));
                }
            }
            if (exact.isEmpty() && byDevice.size() == 1) {
                return byDevice.values().iterator().next();
            }
            return exact;
        }
    }
}
