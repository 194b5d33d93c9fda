package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.FileCalls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the path of the service's own root cgroup in the first cgroup namespace, see cgroup_namespaces(7): the kernel shows the cgroup of each
 * process relative to it. It is found once, because a process stays in its namespace.
 */
public final class CgroupRoot {
    /** After a failure. The search may have to look at many directories. */
    private static final Duration AGAIN = Duration.ofMinutes(1);

    /** PROC_CGROUP_INIT_INO of linux/proc_ns.h. */
    private static final String FIRST_NAMESPACE = "cgroup:[4026531835]";

    private final Path proc;
    private @Nullable Reading<String> found;
    private long foundAt;

    public CgroupRoot(Path proc) {
        this.proc = proc;
    }

    /** Returns the path; {@link Failure#ABSENT} also if the machine does not use version 2 of cgroups only. */
    public Reading<String> read() {
        var last = found;
        if (last == null || (last instanceof Reading.Failed<String> && System.nanoTime() - foundAt > AGAIN.toNanos())) {
            last = ProcFs.reading(() -> Files.readSymbolicLink(proc.resolve("self/ns/cgroup"))
                            .toString()
                            .equals(FIRST_NAMESPACE)
                    ? Reading.of("/")
                    : search());
            found = last;
            foundAt = System.nanoTime();
        }
        return last;
    }

    /** Only below directories of root: users create any number of others. */
    private Reading<String> search() throws IOException {
        var top = proc.resolve("1/root/sys/fs/cgroup");
        var own = FileCalls.status(proc.resolve("self/root/sys/fs/cgroup"));
        var owner = FileCalls.status(top).uid();
        var next = new ArrayDeque<>(List.of(top));
        while (!next.isEmpty()) {
            var directory = next.remove();
            var status = FileCalls.statusOfLink(directory);
            if (status.inode() == own.inode() && status.device() == own.device()) {
                return Reading.of("/" + top.relativize(directory));
            }
            if (status.uid() == owner) {
                try (var below = Files.newDirectoryStream(directory, Files::isDirectory)) {
                    below.forEach(next::add);
                }
            }
        }
        return Reading.failed(Failure.ABSENT, "its own cgroup is not found in " + top);
    }
}
