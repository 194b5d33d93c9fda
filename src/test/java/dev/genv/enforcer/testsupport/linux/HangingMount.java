package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A FUSE file system that never answers, mounted in the mount namespace of another process. It claims to be served by a user, which needs only the privilege to mount.
 */
public final class HangingMount implements Closeable {
    private static final String DIRECTORY = "40777";
    private static final String FILE = "100666";
    private static final String MOUNT =
            "exec 3<>/dev/fuse && mount -i -t fuse.test -o fd=3,rootmode=$1,user_id=$2,group_id=$2,allow_other test \"$3\"";

    private final Path point;
    private final long pid;
    private final Process server;

    private HangingMount(Path point, long pid, Process server) {
        this.point = point;
        this.pid = pid;
        this.server = server;
    }

    /** Mounts it over a directory or a file in the namespace of a process. */
    public static HangingMount mount(Path point, long pid, long uid) throws IOException {
        var mode = Files.isDirectory(point) ? DIRECTORY : FILE;
        var script = MOUNT + " && exec sleep 600";
        var server = new ProcessBuilder(
                        "nsenter",
                        "-t",
                        Long.toString(pid),
                        "-m",
                        "sh",
                        "-c",
                        script,
                        "fuse",
                        mode,
                        Long.toString(uid),
                        point.toString())
                .inheritIO()
                .start();
        var mountinfo = Path.of("/proc", Long.toString(pid), "mountinfo");
        await().until(() -> Files.readString(mountinfo).contains(" %s ".formatted(point)));
        return new HangingMount(point, pid, server);
    }

    /** Returns why it cannot be mounted on this machine; empty if it can. */
    public static Optional<String> reasonUnavailable() throws IOException {
        var point = Files.createTempDirectory("fuse");
        try {
            Programs.run("unshare", "-m", "sh", "-c", MOUNT, "fuse", DIRECTORY, "0", point.toString());
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("FUSE cannot be mounted here, which takes root and /dev/fuse: " + e.getMessage());
        } finally {
            Files.delete(point);
        }
    }

    @Override
    public void close() throws IOException {
        Programs.run("nsenter", "-t", Long.toString(pid), "-m", "umount", "-l", point.toString());
        server.destroyForcibly();
        await().until(() -> !server.isAlive());
    }
}
