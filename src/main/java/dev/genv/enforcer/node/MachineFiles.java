package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.FileStatus;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What {@code /proc} tells of the machine, and of this service as a part of it.
 *
 * @param root where {@code /proc} is
 */
record MachineFiles(Path root) {
    /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    /** Of what users can make longer: they choose how many locks they hold. */
    private static final int LARGEST_LIST = 16 << 20;

    private static final Pattern DRIVER = Pattern.compile("NVRM version:.*?\\s([0-9]+(?:\\.[0-9]+)+)\\s");
    private static final Pattern CAPABILITIES = Pattern.compile("^CapEff:\\s+([0-9a-f]{1,16})$", Pattern.MULTILINE);
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    /** The capabilities that this service has in effect; none where that cannot be told. */
    long effectiveCapabilities() {
        try {
            var match = CAPABILITIES.matcher(ProcFs.text(root.resolve("self/status")));
            return match.find() ? Long.parseUnsignedLong(match.group(1), 16) : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    /** The label that a security module such as AppArmor gave this service; empty where there is none. */
    String securityLabel() {
        for (var name : List.of("self/attr/apparmor/current", "self/attr/current")) {
            try {
                return ProcFs.text(root.resolve(name)).strip();
            } catch (IOException e) {
                // Without such a module the kernel refuses to answer.
            }
        }
        return "";
    }

    /** The files of the machine itself: those that its first process sees, or ours where they may not be looked at. */
    FileTree hostFiles() {
        var first = root.resolve("1/root");
        return Files.isDirectory(first) ? new FileTree(first) : OWN_FILES;
    }

    /** The locks of all files that anybody holds. */
    List<String> locks() throws IOException {
        return lines("locks");
    }

    /** What is mounted, as a process sees it: {@code self}, or a pid. */
    List<String> mounts(String who) throws IOException {
        return lines(who + "/mountinfo");
    }

    /** Whether the machine's own files lie elsewhere than ours; no, where that cannot be told. */
    boolean isInContainer() {
        try {
            var ours = Files.readSymbolicLink(root.resolve("self/ns/mnt"));
            return !ours.equals(Files.readSymbolicLink(root.resolve("1/ns/mnt")));
        } catch (IOException e) {
            return false;
        }
    }

    /** What stands at a path of the machine's own, as its first process sees it; null where there is nothing. */
    @Nullable
    FileStatus hostStatus(Path path) throws IOException {
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

    /** The version of the NVIDIA driver, where its kernel module is loaded. */
    @Nullable
    String driverVersion() {
        try {
            var match = DRIVER.matcher(ProcFs.text(root.resolve("driver/nvidia/version")));
            return match.find() ? match.group(1) : null;
        } catch (IOException e) {
            return null;
        }
    }

    /** Whether pids mean here what they mean to the kernel and its drivers. */
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
