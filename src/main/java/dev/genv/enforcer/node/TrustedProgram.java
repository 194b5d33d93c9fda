package dev.genv.enforcer.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;

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
            checkWayTo(program);
            return program;
        } catch (IOException e) {
            throw new ToolException(program + " cannot be examined: " + e.getMessage(), e);
        }
    }

    /** Goes to the program as the kernel does, link by link: whoever can change any step of the way chooses the program. */
    private static void checkWayTo(Path program) throws IOException, ToolException {
        var ahead = new ArrayDeque<Path>();
        program.forEach(ahead::add);
        var at = Path.of("/");
        while (!ahead.isEmpty()) {
            var step = at.resolve(ahead.pop()).normalize();
            // The folder itself must be closed to others; in one above it they may only not touch what is not theirs.
            check(at, program, !ahead.isEmpty());
            if (Files.isSymbolicLink(step)) {
                checkOwner(step, program);
                var target = Files.readSymbolicLink(step);
                at = target.isAbsolute() ? Path.of("/") : at;
                for (var i = target.getNameCount() - 1; i >= 0; i--) {
                    ahead.push(target.getName(i));
                }
            } else {
                at = step;
            }
        }
        check(at, program, false);
    }

    private static void check(Path file, Path program, boolean stickyIsFine) throws IOException, ToolException {
        checkOwner(file, program);
        var mode = (int) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        if ((mode & WRITABLE_BY_OTHERS) != 0 && !(stickyIsFine && (mode & STICKY) != 0)) {
            throw new ToolException("%s is not used: others can write %s".formatted(program, file));
        }
    }

    private static void checkOwner(Path file, Path program) throws IOException, ToolException {
        var uid = Integer.toUnsignedLong((int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS));
        if (uid != 0 && uid != Libc.effectiveUid()) {
            throw new ToolException("%s is not used: %s belongs to user %d".formatted(program, file, uid));
        }
    }
}
