package dev.genv.enforcer.node.gpu.nvml.library;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The first bytes of a library, which say for what it was built (elf.h). */
final class ElfHeader {
    private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");
    /** The name of the folder of this architecture's libraries on Debian and Ubuntu. */
    static final String MULTIARCH = ARM ? "aarch64-linux-gnu" : "x86_64-linux-gnu";

    private static final int SIZE = 20;
    private static final int MAGIC = 0x464c457f;
    private static final int CLASS = 4;
    private static final int CLASS_64 = 2;
    private static final int DATA = 5;
    private static final int LITTLE_ENDIAN = 1;
    private static final int TYPE = 16;
    private static final int SHARED = 3;
    private static final int MACHINE = 18;
    private static final int OUR_MACHINE = ARM ? 183 : 62;

    private ElfHeader() {}

    /** Returns why a file is no library for this architecture, as the continuation of a sentence that begins with its path. */
    static Optional<String> objection(Path file) {
        if (!Files.exists(file)) {
            return Optional.of(" does not exist");
        }
        if (!Files.isRegularFile(file)) {
            return Optional.of(" is not a file");
        }
        try (var bytes = Files.newInputStream(file)) {
            return objection(ByteBuffer.wrap(bytes.readNBytes(SIZE)).order(ByteOrder.LITTLE_ENDIAN));
        } catch (IOException e) {
            return Optional.of(" cannot be read: " + e.getMessage());
        }
    }

    private static Optional<String> objection(ByteBuffer header) {
        if (header.limit() < SIZE || header.getInt(0) != MAGIC) {
            return Optional.of(" is not a library");
        }
        if (header.get(CLASS) != CLASS_64
                || header.get(DATA) != LITTLE_ENDIAN
                || header.getShort(MACHINE) != OUR_MACHINE) {
            return Optional.of(" is a library for another architecture");
        }
        return header.getShort(TYPE) == SHARED ? Optional.empty() : Optional.of(" is not a library");
    }
}
