package dev.genv.enforcer.node;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a node is called where nobody gave it a name: as its machine is. A container has a host name of its own, which is
 * another one each time it is made anew.
 */
public final class NodeName {
    private static final Path FILE = Path.of("/etc/hostname");
    /** In bytes; a name has 64 at most. */
    private static final int LONGEST = 4096;

    private NodeName() {}

    /** By the processes that are to be seen there, such as {@code /proc}. */
    public static String of(Path proc) {
        try {
            if (!namespace(proc, "self").equals(namespace(proc, "1"))) {
                var name = ofMachine(new FileTree(proc.resolve("1/root")));
                if (!name.isEmpty()) {
                    return name;
                }
            }
        } catch (IOException e) {
            // Then our own has to do.
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
            // As hostname(5) has it: a name, perhaps with comments in front of it.
            return new String(stream.readNBytes(LONGEST), StandardCharsets.US_ASCII)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("#"))
                    .findFirst()
                    .filter(name -> !name.startsWith("localhost")) // so every machine may be called
                    .orElse("");
        }
    }
}
