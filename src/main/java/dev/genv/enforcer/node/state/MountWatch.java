package dev.genv.enforcer.node.state;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds mounts of users in a mount namespace. They are read once, and again after each change, of which poll(2) tells: see
 * proc_pid_mountinfo(5).
 */
final class MountWatch implements AutoCloseable {
    /** In bytes; users can mount. */
    private static final int LARGEST = 16 << 20;

    private final Path mountinfo;
    /** Opened before its content was read, which had no mount of a user. */
    private @Nullable Descriptor without;

    /** @param mountinfo of a process */
    MountWatch(Path mountinfo) {
        this.mountinfo = mountinfo;
    }

    /** Returns all lines if one shows a mount of a user; otherwise none, as on most machines. */
    synchronized List<String> linesIfUsersMount() throws IOException {
        if (without != null && !hasChanged(without)) {
            return List.of();
        }
        close();
        var file = new Descriptor(FileCalls.open(mountinfo)); // from here on it reports each change
        try {
            var text = new String(file.read(LARGEST), StandardCharsets.UTF_8);
            if (text.contains("user_id=")) {
                return text.lines().toList(); // no event tells when a directory above a mount is renamed
            }
            // A file that the kernel makes has no size. Another one, as in tests, reports no change.
            if (!text.isEmpty() && file.status().size() == 0) {
                without = file;
            }
            return List.of();
        } finally {
            if (without != file) {
                file.close();
            }
        }
    }

    private static boolean hasChanged(Descriptor file) {
        try {
            return file.poll(FileCalls.POLLPRI, 0);
        } catch (Errno e) {
            return true;
        }
    }

    @Override
    public synchronized void close() {
        if (without != null) {
            without.close();
            without = null;
        }
    }
}
