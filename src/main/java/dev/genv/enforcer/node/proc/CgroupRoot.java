package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.FileCalls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the path of the service's own root cgroup in the first cgroup namespace, see cgroup_namespaces(7): the kernel shows the cgroup of each
 * process relative to it. It is found once, because a process stays in its namespace.
 */
public final class CgroupRoot {
    /** PROC_CGROUP_INIT_INO of linux/proc_ns.h. */
    private static final String FIRST_NAMESPACE = "cgroup:[4026531835]";

    private final Path proc;
    private @Nullable Reading<String> found;

    public CgroupRoot(Path proc) {
        this.proc = proc;
    }

    /** Returns the path; {@link Failure#ABSENT} also if the machine does not use version 2 of cgroups only. */
    public Reading<String> read() {
        if (found == null) {
            var now = ProcFs.reading(() -> Files.readSymbolicLink(proc.resolve("self/ns/cgroup"))
                            .toString()
                            .equals(FIRST_NAMESPACE)
                    ? Reading.of("/")
                    : search());
            if (now instanceof Reading.Failed<String>) {
                return now;
            }
            found = now;
        }
        return found;
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
