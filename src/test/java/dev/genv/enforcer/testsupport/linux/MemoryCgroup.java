package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A cgroup of version 1 or 2 with a memory limit, above which the kernel kills a process in it, as with a container.
 *
 * @param directory its directory in the file system of cgroups
 * @param counter the file that counts the kills
 */
public record MemoryCgroup(Path directory, Path counter) implements AutoCloseable {
    private static final Pattern KILLS = Pattern.compile("(?m)^oom_kill ([0-9]+)$");
    private static final Pattern OWN_OF_VERSION_1 = Pattern.compile("[0-9]+:([^:]*,)?memory(,[^:]*)?:(.*)");

    /** Creates a cgroup with a limit in bytes; skips the test if the machine does not allow it. */
    public static MemoryCgroup create(long limit) throws IOException {
        var name = "genv-test-memory-%d".formatted(System.nanoTime());
        for (var line : Files.readAllLines(Path.of("/proc/self/mounts"))) {
            var words = line.split(" ", -1);
            var mount = Path.of(words[1]);
            if (words[2].equals("cgroup") && List.of(words[3].split(",", -1)).contains("memory")) {
                var created = Files.createDirectory(
                        Path.of(mount + ownOfVersion1()).resolve(name)); // its limit also holds for this one
                Files.writeString(created.resolve("memory.limit_in_bytes"), Long.toString(limit));
                return new MemoryCgroup(created, created.resolve("memory.oom_control"));
            }
            var controllers = mount.resolve("cgroup.subtree_control");
            if (words[2].equals("cgroup2")
                    && Files.isWritable(controllers)
                    && Files.readString(mount.resolve("cgroup.controllers")).contains("memory")) {
                Files.writeString(controllers, "+memory");
                var created = Files.createDirectory(mount.resolve(name));
                Files.writeString(created.resolve("memory.max"), Long.toString(limit));
                return new MemoryCgroup(created, created.resolve("memory.events"));
            }
        }
        Requirements.require(false, "a cgroup with a memory limit", "run the build as root with writable cgroups");
        throw new IllegalStateException("a missing requirement ends the test");
    }

    private static String ownOfVersion1() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/cgroup")).stream()
                .map(OWN_OF_VERSION_1::matcher)
                .filter(Matcher::matches)
                .map(match -> match.group(3))
                .findFirst()
                .orElseThrow();
    }

    /** Returns a command that enters the cgroup, and then runs the command that follows. */
    public String[] launcher() {
        return new String[] {"sh", "-c", "echo $$ > %s/cgroup.procs && exec \"$0\" \"$@\"".formatted(directory)};
    }

    /** Returns how many processes the kernel has killed for the limit. */
    public int kills() throws IOException {
        var match = KILLS.matcher(Files.readString(counter));
        if (!match.find()) {
            throw new IOException("no number of kills in " + counter);
        }
        return Integer.parseInt(match.group(1));
    }

    /** Waits until its processes have exited, and removes it. */
    @Override
    public void close() {
        await().ignoreExceptionsInstanceOf(FileSystemException.class).until(() -> Files.deleteIfExists(directory));
    }
}
