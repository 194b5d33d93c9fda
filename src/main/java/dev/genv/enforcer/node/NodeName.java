package dev.genv.enforcer.node;

import dev.genv.enforcer.linux.FileTree;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The default name of the node: the host name of its machine. A container has its own host name, which changes with each new
 * container.
 */
public final class NodeName {
    private static final Path FILE = Path.of("/etc/hostname");
    /** The largest size of the file in bytes; a host name has at most 64. */
    private static final int LONGEST = 4096;

    private NodeName() {}

    /** Returns the name for this directory of processes, such as {@code /proc}. */
    public static String of(Path proc) {
        try {
            if (!namespace(proc, "self").equals(namespace(proc, "1"))) {
                var name = ofMachine(new FileTree(proc.resolve("1/root")));
                if (!name.isEmpty()) {
                    return name;
                }
            }
        } catch (IOException e) {
            // The service's own host name is used instead.
        }
        try {
            return Files.readString(proc.resolve("sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return InetAddress.getLoopbackAddress().getHostName();
        }
    }

    private static Path namespace(Path proc, String process) throws IOException {
        return Files.readSymbolicLink(proc.resolve(process).resolve("ns/uts"));
    }

    private static String ofMachine(FileTree files) throws IOException {
        try (var stream = Files.newInputStream(files.follow(FILE, FileTree.Inspection.NONE))) {
            // As in hostname(5): a name, possibly after comments.
            return new String(stream.readNBytes(LONGEST), StandardCharsets.US_ASCII)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .findFirst()
                    .filter(name -> !name.startsWith("localhost")) // the default name of every machine
                    .orElse("");
        }
    }
}
