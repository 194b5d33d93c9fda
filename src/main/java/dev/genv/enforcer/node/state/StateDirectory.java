package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.host.StateFacts.StateFile.Cause;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * genv's state directory, opened for one operation. Every local user may write in it, so nothing in it is trusted: no link is
 * followed, only regular files of bounded size are read, and no file is written in place.
 */
record StateDirectory(Descriptor folder) implements AutoCloseable {
    /** Users choose the number of files. */
    private static final int MAX_NAMES = 10_000;

    private static final int SHARED_FILE = 0666;
    private static final int READABLE_BY_ALL = 0004;
    private static final int SHARED_DIRECTORY = 0777;

    private static final String MARK = ".genv-enforcer-";
    private static final Pattern TEMPORARY =
            Pattern.compile(Pattern.quote("." + StatePair.DEVICES + MARK) + "[0-9a-f]{16}");

    /** Opens the directory; null if there is none, as on a machine without genv. */
    static @Nullable StateDirectory open(Path path) throws IOException {
        return open(path, FileCalls.O_RDONLY);
    }

    /** The same with this access, as in {@link Descriptor#openDirectory}. */
    static @Nullable StateDirectory open(Path path, int access) throws IOException {
        try {
            return new StateDirectory(Descriptor.openDirectory(path, access));
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return null;
            }
            throw e;
        }
    }

    /** Sets the mode 0777, as genv creates the directory. */
    void openToAll() throws IOException {
        folder.setMode(SHARED_DIRECTORY);
    }

    /** Whether it belongs to root and is closed to other users. */
    boolean isClosedToOthers() throws IOException {
        var status = folder.status();
        return status.uid() == 0 && (status.permissions() & SHARED_DIRECTORY) != SHARED_DIRECTORY;
    }

    StateFile read(String name) {
        try (var file = open(name)) {
            return read(file);
        } catch (IOException e) {
            return unreadable(e);
        }
    }

    private static StateFile read(Descriptor file) {
        try {
            var status = file.status();
            if (!status.isRegular()) {
                return unreadable(Cause.NOT_REGULAR, 0);
            }
            if (status.links() > 1 && (status.permissions() & READABLE_BY_ALL) == 0) {
                // genv's files are open to all users. A closed file may be a secret, which no report may show.
                return unreadable(Cause.CLOSED, status.links());
            }
            if (status.size() > StateFile.LARGEST) {
                return unreadable(Cause.TOO_LARGE, StateFile.LARGEST);
            }
            var bytes = file.readSized((int) status.size());
            return bytes.length != status.size() || file.read(1).length > 0
                    ? unreadable(Cause.CHANGED_WHILE_READ, 0)
                    : new StateFile.Present(Bytes.of(bytes));
        } catch (IOException e) {
            return unreadable(e);
        }
    }

    private static StateFile unreadable(Cause cause, long number) {
        return new StateFile.Unreadable(cause, number, "");
    }

    private static StateFile unreadable(IOException e) {
        if (e instanceof Errno errno && errno.is(Errno.ENOENT)) {
            return new StateFile.Absent();
        }
        if (e instanceof Errno errno && (errno.is(Errno.ELOOP) || errno.is(Errno.EACCES))) {
            return unreadable(errno.is(Errno.ELOOP) ? Cause.SYMBOLIC_LINK : Cause.DENIED, 0);
        }
        return new StateFile.Unreadable(Cause.OTHER, 0, Errno.textOf(e));
    }

    /** A condition that is checked directly before a file is replaced. */
    interface Condition {
        boolean holds() throws IOException;
    }

    /**
     * Replaces a file atomically by a complete one. A power failure may undo that, and it ends the processes of all environments too.
     *
     * @param condition checked directly before the replacement
     * @return false if it was not met, and nothing was replaced
     */
    boolean replace(String name, byte[] content, Condition condition) throws IOException {
        var temporary = "." + name + MARK
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        try {
            make(temporary, SHARED_FILE, content);
            if (!condition.holds()) {
                folder.remove(temporary);
                return false;
            }
            folder.rename(temporary, name);
        } catch (IOException e) {
            try {
                folder.remove(temporary);
            } catch (Errno notRemoved) {
                e.addSuppressed(notRemoved);
            }
            throw e;
        }
        return true;
    }

    /**
     * Creates a new file, complete and synchronized to the disk.
     *
     * @throws Errno also if the file exists
     */
    void make(String name, int mode, byte[] content) throws IOException {
        try (var file = folder.open(name, FileCalls.O_WRONLY | FileCalls.O_CREAT | FileCalls.O_EXCL, mode)) {
            file.setMode(mode);
            file.write(content);
            file.sync();
        }
    }

    Descriptor open(String name) throws Errno {
        return folder.open(name, FileCalls.O_RDONLY, 0);
    }

    /** Returns the names in the directory, up to a limit. */
    List<String> names() throws IOException {
        // Lists the open directory, even if its path leads to another one now.
        return ProcFs.entries(
                Path.of("/proc/self/fd", Integer.toString(folder.number())), names -> names.limit(MAX_NAMES));
    }

    /** Returns the present temporary files. Another enforcer may be writing one of them unless genv's lock is held. */
    List<String> temporaryFiles() throws IOException {
        return names().stream().filter(TEMPORARY.asMatchPredicate()).toList();
    }

    /**
     * Removes the temporary files that a killed run left behind; genv's lock must be held. An entry that cannot be removed, such as a
     * directory, is ignored.
     *
     * @return the removed names
     */
    List<String> removeTemporaryFiles() throws IOException {
        var removed = new ArrayList<String>();
        for (var name : temporaryFiles()) {
            try {
                folder.remove(name);
                removed.add(name);
            } catch (Errno _) {
                // A directory with such a name belongs to a user and is harmless.
            }
        }
        return removed;
    }

    @Override
    public void close() {
        folder.close();
    }

    /** The two state files as they were read. */
    record StatePair(StateFile envs, StateFile devices) {
        static final String ENVS = "envs.json";
        static final String DEVICES = "devices.json";
        private static final long PAUSE_MILLIS = 50;
        private static final Duration TIMEOUT = Duration.ofSeconds(1);

        static StatePair of(StateDirectory directory) {
            return new StatePair(directory.read(ENVS), directory.read(DEVICES));
        }

        /** Opens both files at once: who sees that one is opened cannot replace the other one. */
        static StatePair atOnce(StateDirectory directory) {
            try (var envs = directory.open(ENVS)) {
                try (var devices = directory.open(DEVICES)) {
                    return new StatePair(StateDirectory.read(envs), StateDirectory.read(devices));
                } catch (IOException e) {
                    return new StatePair(StateDirectory.read(envs), unreadable(e));
                }
            } catch (IOException e) {
                return new StatePair(unreadable(e), directory.read(DEVICES));
            }
        }

        /** Whether no program is writing one of the files: each is absent, or all its objects, arrays and texts end. */
        boolean isComplete() {
            return isComplete(envs) && isComplete(devices);
        }

        private static boolean isComplete(StateFile file) {
            return switch (file) {
                case StateFile.Absent _ -> true;
                case StateFile.Unreadable _ -> false;
                case StateFile.Present(var content) -> isWhole(content.array());
            };
        }

        private static boolean isWhole(byte[] content) {
            var begun = 0;
            var ended = 0;
            var isText = false;
            for (var i = 0; i < content.length; i++) {
                switch (content[i]) {
                    case '"' -> isText = !isText;
                    case '\\' -> i++;
                    case '{', '[' -> begun += isText ? 0 : 1;
                    case '}', ']' -> ended += isText ? 0 : 1;
                    default -> {}
                }
            }
            return begun > 0 && begun == ended && !isText;
        }

        /**
         * Reads the files without genv's lock, so that a user who holds the lock forever cannot stop enforcement. genv writes in place, so
         * only files that are complete and do not change for a while are valid.
         */
        static StatePair readUnlocked(StateDirectory directory) throws IOException, InterruptedException {
            var start = System.nanoTime();
            var envs = FileVersion.of(directory, ENVS);
            var devices = FileVersion.of(directory, DEVICES);
            while (true) {
                Thread.sleep(PAUSE_MILLIS);
                var envsNow = FileVersion.of(directory, ENVS);
                var devicesNow = FileVersion.of(directory, DEVICES);
                var state = new StatePair(envsNow.sameAs(envs), devicesNow.sameAs(devices));
                if (state.isComplete() || System.nanoTime() - start > TIMEOUT.toNanos()) {
                    return state;
                }
                envs = envsNow;
                devices = devicesNow;
            }
        }

        /** A file with its status before and after it was read. */
        private record FileVersion(
                @Nullable FileStatus before,
                StateFile content,
                @Nullable FileStatus after) {
            static FileVersion of(StateDirectory directory, String name) throws IOException {
                return new FileVersion(directory.folder.find(name), directory.read(name), directory.folder.find(name));
            }

            StateFile sameAs(FileVersion earlier) {
                return equals(earlier) && Objects.equals(before, after)
                        ? content
                        : new StateFile.Unreadable(StateFile.Cause.CHANGES_WITHOUT_LOCK, 0, "");
            }
        }
    }
}
