package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.Problem;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sees to it that one enforcer alone acts on a state directory: two would send two SIGTERMs, which many trainers take for
 * an abort. It is a file of ours in that directory, locked as long as we live. Everybody can remove it or put something
 * in its place, so it is looked at again and again, and what is not ours keeps nobody from acting.
 */
final class ActingLock implements AutoCloseable {
    static final String NAME = ".genv-enforcer.lock";
    private static final int OURS_ALONE = 0600;
    private static final int OTHERS = 0077;
    private static final int MOST_ATTEMPTS = 10;
    private static final int LONGEST = 64;

    private final Path path;
    private final LockHolders holders;
    /** Held by a thread that was left behind, if the directory did not answer. */
    private final ReentrantLock inUse = new ReentrantLock();

    private @Nullable Descriptor held;

    /**
     * Not yet taken.
     *
     * @param path of the state directory
     */
    ActingLock(Path path, LockHolders holders) {
        this.path = path;
        this.holders = holders;
    }

    /**
     * What came of taking it.
     *
     * @param other who acts in our place, as a sentence; null where we do
     * @param problem what must be told of it
     */
    record Standing(@Nullable String other, @Nullable Problem problem) {
        static final Standing ACTING = new Standing(null, null);
    }

    /** Takes it, or finds that we still have it. Where there is no directory, there is nothing to lock yet. */
    Standing take() {
        if (!inUse.tryLock()) {
            return unsure("is still being taken by an earlier cycle");
        }
        try {
            return takeNow();
        } finally {
            inUse.unlock();
        }
    }

    private Standing takeNow() {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null) {
                release();
                return Standing.ACTING;
            }
            return take(directory);
        } catch (IOException noDirectory) {
            return Standing.ACTING; // whoever reads the files in it tells why
        }
    }

    /** Gives it back, unless a look that hangs is at it: then it is free when this process ends. */
    @Override
    public void close() throws IOException {
        if (inUse.tryLock()) {
            try {
                release();
            } finally {
                inUse.unlock();
            }
        }
    }

    private Standing take(StateDirectory directory) {
        try {
            return held != null && isAt(directory, held) ? Standing.ACTING : takeAnew(directory);
        } catch (IOException e) {
            return unsure("cannot be used: " + e.getMessage());
        }
    }

    private void release() throws IOException {
        if (held != null) {
            held.close();
            held = null;
        }
    }

    private Standing takeAnew(StateDirectory directory) throws IOException {
        release();
        // It names its directory: the file of an enforcer of another one, moved here by somebody, is not ours.
        var content =
                "genv-enforcer of directory %d\n".formatted(directory.status().inode());
        var bytes = content.getBytes(StandardCharsets.US_ASCII);
        for (var attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
            var file = open(directory, bytes);
            if (file == null) {
                continue;
            }
            try {
                if (FileCalls.tryFlock(file.number())) {
                    held = isAt(directory, file) ? file : null;
                } else if (isAt(directory, file)) {
                    return watching(FileCalls.status(file.number()));
                }
            } finally {
                if (held != file) {
                    file.close();
                }
            }
            if (held != null) {
                return Standing.ACTING;
            }
        }
        return unsure("is replaced again and again");
    }

    /** The file, if it is ours. What else stands there is removed, and where there is none, one is made: then null. */
    private static @Nullable Descriptor open(StateDirectory directory, byte[] content) throws IOException {
        if (!directory.has(NAME)) {
            directory.make(NAME, OURS_ALONE, content);
            return null;
        }
        try {
            var file = directory.open(NAME);
            if (isOurs(file, content)) {
                return file;
            }
            file.close();
        } catch (Errno notEvenAFile) {
            // Such as a link. It goes the same way.
        }
        directory.remove(NAME);
        return null;
    }

    /** Not one that others may open: they could lock it. Not one that is somewhere else, too. */
    private static boolean isOurs(Descriptor file, byte[] content) throws IOException {
        var status = FileCalls.status(file.number());
        return status.isRegular()
                && status.uid() == Libc.effectiveUid()
                && (status.permissions() & OTHERS) == 0
                && status.links() == 1
                && Arrays.equals(FileCalls.read(file.number(), LONGEST), content);
    }

    private static boolean isAt(StateDirectory directory, Descriptor file) throws IOException {
        var there = directory.status(NAME);
        return there != null && there.isSameFile(FileCalls.status(file.number()));
    }

    private Standing watching(FileStatus file) {
        var other = "another enforcer%s acts on this state directory"
                .formatted(holders.pid(file).map(" (process %d)"::formatted).orElse(""));
        return new Standing(other, new Problem("second_enforcer", other + ": this one only watches"));
    }

    private static Standing unsure(String why) {
        return new Standing(
                null,
                new Problem(
                        "enforcer_lock_unusable",
                        "%s %s. Remove what stands in its place: whether another enforcer acts here too is not known"
                                .formatted(NAME, why)));
    }
}
