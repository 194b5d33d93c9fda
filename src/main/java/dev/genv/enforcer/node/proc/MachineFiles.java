package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.node.files.FileTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Facts of {@code /proc} about the machine and the service itself.
 *
 * @param root the path of {@code /proc}
 */
public record MachineFiles(Path root) {
    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    /** The size limit of files that users can extend, for example with locks. */
    private static final int LARGEST_LIST = 16 << 20;

    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private static final Pattern CAPABILITIES = Pattern.compile("^CapEff:\\s+([0-9a-f]{1,16})$", Pattern.MULTILINE);
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    /** Returns the effective capabilities of the service; none if unknown. */
    long effectiveCapabilities() {
        try {
            var match = CAPABILITIES.matcher(ProcFs.text(root.resolve("self/status")));
            return match.find() ? Long.parseUnsignedLong(match.group(1), 16) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** Returns the label that a security module such as AppArmor gave the service; empty if there is none. */
    String securityLabel() {
        for (var name : List.of("self/attr/apparmor/current", "self/attr/current")) {
            try {
                return ProcFs.text(root.resolve(name)).strip();
            } catch (IOException e) {
                // Without such a module, the read fails.
            }
        }
        return "";
    }

    /** Returns the files of the machine, as its first process sees them; the service's own files if access is denied. */
    public FileTree hostFiles() {
        var first = root.resolve("1/root");
        return Files.isDirectory(first) ? new FileTree(first) : OWN_FILES;
    }

    /** Returns the lines of all file locks. */
    public List<String> locks() throws IOException {
        return lines("locks");
    }

    /** Returns the mounts in the view of a process: {@code self}, or a pid. */
    public List<String> mounts(String who) throws IOException {
        return lines(who + "/mountinfo");
    }

    /** Whether the machine's root differs from the service's root; false if unknown. */
    public boolean isInContainer() {
        try {
            var ownNamespace = Files.readSymbolicLink(root.resolve("self/ns/mnt"));
            return !ownNamespace.equals(Files.readSymbolicLink(root.resolve("1/ns/mnt")));
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the status of a path of the machine, as its first process sees it; null if there is none. */
    @Nullable
    public FileStatus hostStatus(Path path) throws IOException {
        try {
            var there = root.resolve("1/root").resolve(Path.of("/").relativize(path));
            return FileCalls.status(FileCalls.AT_FDCWD, there.toString());
        } catch (Errno e) {
            if (e.is(Errno.ENOENT) || e.is(Errno.ENOTDIR)) {
                return null;
            }
            throw e;
        }
    }

    private List<String> lines(String file) throws IOException {
        return new String(ProcFs.read(root.resolve(file), LARGEST_LIST), StandardCharsets.UTF_8)
                .lines()
                .toList();
    }

    /** Returns the version of the NVIDIA driver; null if its kernel module is not loaded. */
    @Nullable
    public String driverVersion() {
        try {
            var match = DRIVER.matcher(ProcFs.text(root.resolve("driver/nvidia/version")));
            return match.find() ? match.group(1) : null;
        } catch (IOException e) {
            return null;
        }
    }

    /** Whether the service is in the first PID namespace, whose pids the drivers use. */
    boolean isFirstPidNamespace() {
        try {
            return Files.readSymbolicLink(root.resolve("self/ns/pid"))
                    .toString()
                    .equals(FIRST_PID_NAMESPACE);
        } catch (IOException e) {
            return false;
        }
    }
}
