package dev.genv.enforcer.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Finds a program that nobody but root and ourselves can have put there. */
final class TrustedProgram {
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final int STICKY = 01000;

    private TrustedProgram() {}

    /**
     * Finds a program by its path, or by its name in the usual folders.
     *
     * @throws ToolException where there is none, or where somebody else could replace it
     */
    static Path find(String program) throws ToolException {
        if (program.contains("/")) {
            return checked(Path.of(program).toAbsolutePath());
        }
        for (var folder : Tool.PATH.split(":", -1)) {
            var candidate = Path.of(folder, program);
            if (Files.isExecutable(candidate)) {
                return checked(candidate);
            }
        }
        throw new ToolException(program + " is not in any of " + Tool.PATH);
    }

    private static Path checked(Path program) throws ToolException {
        try {
            if (!Files.isRegularFile(program) || !Files.isExecutable(program)) {
                throw new ToolException(program + " is not a program");
            }
            checkFolders(program.getParent(), program);
            var real = program.toRealPath();
            check(real, program, false);
            checkFolders(real.getParent(), program);
            return program;
        } catch (IOException e) {
            throw new ToolException(program + " cannot be examined: " + e.getMessage(), e);
        }
    }

    private static void checkFolders(@Nullable Path lowest, Path program) throws IOException, ToolException {
        for (var folder = lowest; folder != null; folder = folder.getParent()) {
            // The folder itself must be closed to others; in one above it they may only not touch what is not theirs.
            check(folder.toRealPath(), program, !folder.equals(lowest));
        }
    }

    private static void check(Path file, Path program, boolean stickyIsFine) throws IOException, ToolException {
        var attributes = Files.readAttributes(file, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
        var uid = Integer.toUnsignedLong((int) attributes.getOrDefault("uid", -1));
        var mode = (int) attributes.getOrDefault("mode", WRITABLE_BY_OTHERS);
        if (uid != 0 && uid != Libc.effectiveUid()) {
            throw new ToolException("%s is not used: %s belongs to user %d".formatted(program, file, uid));
        }
        if ((mode & WRITABLE_BY_OTHERS) != 0 && !(stickyIsFine && (mode & STICKY) != 0)) {
            throw new ToolException("%s is not used: others can write %s".formatted(program, file));
        }
    }
}
