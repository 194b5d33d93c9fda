package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A cgroup of version 2, by default with the name of a scope of systemd.
 *
 * @param directory its directory in the file system of cgroups
 */
public record TestCgroup(Path directory) implements AutoCloseable {

    /** Creates a cgroup; skips the test if the machine does not allow it. */
    public static TestCgroup create() throws IOException {
        return create("genv-test-%d.scope".formatted(System.nanoTime()));
    }

    /** The same with another name. */
    public static TestCgroup create(String name) throws IOException {
        var created = mount().flatMap(mount -> create(mount.resolve(name)));
        Requirements.require(
                created.isPresent(), "a cgroup of version 2", "run the build as root with writable cgroups");
        return created.orElseThrow();
    }

    private static Optional<Path> mount() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/mounts")).stream()
                .map(line -> line.split(" ", -1))
                .filter(words -> words[2].equals("cgroup2"))
                .map(words -> Path.of(words[1]))
                .findFirst();
    }

    private static Optional<TestCgroup> create(Path directory) {
        try {
            return Optional.of(new TestCgroup(Files.createDirectory(directory)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Waits until its processes have exited, and removes it. */
    @Override
    public void close() {
        await().ignoreExceptionsInstanceOf(FileSystemException.class).until(() -> Files.deleteIfExists(directory));
    }
}
