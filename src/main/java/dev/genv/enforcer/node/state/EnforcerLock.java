package dev.genv.enforcer.node.state;

import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.host.HostFacts.EnforcerFacts.Other;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockHolders;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Ensures that only one enforcer acts on a state directory: two enforcers would send two SIGTERMs, and many training programs abort
 * at the second one. The lock is a file of the service in that directory, locked while the service runs. Every user can remove or
 * replace the file. So each cycle checks it, and a file of another user blocks no enforcer.
 */
public final class EnforcerLock implements AutoCloseable {
    public static final String NAME = ".genv-enforcer.lock";
    private static final int OWNER_ONLY = 0600;
    private static final int GROUP_AND_OTHERS = 0077;
    private static final int MAX_ATTEMPTS = 10;
    private static final int LONGEST = 64;

    private final Path path;
    private final LockHolders holders;
    /** Held by an abandoned thread if the directory did not answer. */
    private final ReentrantLock inUse = new ReentrantLock();

    private @Nullable Descriptor held;

    /**
     * Creates a lock that is not yet taken.
     *
     * @param path of the state directory
     */
    public EnforcerLock(Path path, ProcFs proc) {
        this.path = path;
        holders = new LockHolders(proc);
    }

    /** Takes the lock, or checks that it is still held. Without a directory there is nothing to lock. */
    public EnforcerFacts take() {
        if (!inUse.tryLock()) {
            return unusable("is still being taken by an earlier cycle");
        }
        try {
            return takeNow();
        } finally {
            inUse.unlock();
        }
    }

    private EnforcerFacts takeNow() {
        try (var directory = StateDirectory.open(path)) {
            if (directory == null) {
                release();
                return EnforcerFacts.NONE;
            }
            try {
                return held != null && directory.folder().has(NAME, held.status())
                        ? EnforcerFacts.NONE
                        : retake(directory);
            } catch (IOException e) {
                return unusable("cannot be used: " + e.getMessage());
            }
        } catch (IOException noDirectory) {
            return EnforcerFacts.NONE; // the reader of the state files reports why
        }
    }

    /** Releases the lock, unless an observation that hangs uses it: then it is released when the service exits. */
    @Override
    public void close() {
        if (inUse.tryLock()) {
            try {
                release();
            } finally {
                inUse.unlock();
            }
        }
    }

    private void release() {
        if (held != null) {
            held.close();
            held = null;
        }
    }

    private EnforcerFacts retake(StateDirectory directory) throws IOException {
        release();
        // The content names its directory, so that a lock file that a user moved from another directory does not count.
        var content = "genv-enforcer of directory %d\n"
                .formatted(directory.folder().status().inode());
        var bytes = content.getBytes(StandardCharsets.US_ASCII);
        for (var attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
            var file = open(directory, bytes);
            if (file == null) {
                continue;
            }
            try {
                if (file.tryLock()) {
                    held = directory.folder().has(NAME, file.status()) ? file : null;
                } else if (directory.folder().has(NAME, file.status())) {
                    var pid = holders.pid(file.status()).orElse(0);
                    return new EnforcerFacts(new Other.OnMachine(pid), "");
                }
            } finally {
                if (held != file) {
                    file.close();
                }
            }
            if (held != null) {
                return EnforcerFacts.NONE;
            }
        }
        return unusable("is replaced repeatedly");
    }

    /** Returns the lock file if it is valid. Removes anything else with this name, and creates the file if there is none: then null. */
    private static @Nullable Descriptor open(StateDirectory directory, byte[] content) throws IOException {
        if (directory.folder().find(NAME) == null) {
            directory.make(NAME, OWNER_ONLY, content);
            return null;
        }
        try {
            var file = directory.open(NAME);
            if (isValid(file, content)) {
                return file;
            }
            file.close();
        } catch (Errno notEvenAFile) {
            // Such as a link, which is removed too.
        }
        directory.folder().remove(NAME);
        return null;
    }

    /** A file that others may open is invalid, because they could lock it; so is a file with a second name. */
    private static boolean isValid(Descriptor file, byte[] content) throws IOException {
        var status = file.status();
        return status.isRegular()
                && status.uid() == FileCalls.effectiveUid()
                && (status.permissions() & GROUP_AND_OTHERS) == 0
                && status.links() == 1
                && Arrays.equals(file.read(LONGEST), content);
    }

    private static EnforcerFacts unusable(String why) {
        return new EnforcerFacts(null, why);
    }
}
