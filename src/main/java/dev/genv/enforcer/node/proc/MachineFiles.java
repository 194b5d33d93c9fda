package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.HostFacts.MachineFacts;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.linux.FileStatus;
import dev.genv.enforcer.linux.FileTree;
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
    /** The size limit of files that users can extend, for example with locks. */
    private static final int LARGEST_LIST = 16 << 20;

    private static final Pattern CAPABILITIES = Pattern.compile("^CapEff:\\s+([0-9a-f]{1,16})$", Pattern.MULTILINE);
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    /** Returns the effective capabilities of the service; none if unknown. */
    public long effectiveCapabilities() {
        var match = CAPABILITIES.matcher(text(() -> ProcFs.text(root.resolve("self/status"))));
        return match.find() ? Long.parseUnsignedLong(match.group(1), 16) : 0;
    }

    /** Returns the label that a security module such as AppArmor gave the service; empty if there is none. */
    public String securityLabel() {
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
        var own = namespace("self/ns/mnt");
        var first = namespace("1/ns/mnt");
        return !own.isEmpty() && !first.isEmpty() && !own.equals(first);
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

    /** Returns the machine's id, boot and driver, each empty if it cannot be read. */
    public MachineFacts facts(long beforeListing, long beforeState) {
        return new MachineFacts(
                text(() -> ProcFs.text(hostFiles().follow(Path.of("/etc/machine-id"), FileTree.Inspection.NONE))),
                text(() -> ProcFs.text(root.resolve("sys/kernel/random/boot_id"))),
                text(() -> ProcFs.text(root.resolve("driver/nvidia/version")))
                        .lines()
                        .findFirst()
                        .orElse(""),
                beforeListing,
                beforeState);
    }

    /** Returns the target of the link to the service's PID namespace; empty if unknown. */
    public String pidNamespace() {
        return namespace("self/ns/pid");
    }

    private String namespace(String link) {
        return text(() -> Files.readSymbolicLink(root.resolve(link)).toString());
    }

    private interface Text {
        String read() throws IOException;
    }

    private static String text(Text text) {
        try {
            return text.read().strip();
        } catch (IOException e) {
            return "";
        }
    }
}
