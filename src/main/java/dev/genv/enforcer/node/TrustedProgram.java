package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.observation.ToolException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;

/** Finds a program that nobody but root and ourselves can have put there. */
final class TrustedProgram {
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

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
            OWN_FILES.follow(program, new TrustedOwners(ourselvesAndRoot()));
            return program;
        } catch (UntrustedException e) {
            throw new ToolException("%s is not used: %s".formatted(program, e.getMessage()), e);
        } catch (IOException e) {
            throw new ToolException(program + " cannot be examined: " + e.getMessage(), e);
        }
    }

    private static Set<Long> ourselvesAndRoot() throws Errno {
        var ourselves = Libc.effectiveUid();
        return ourselves == 0 ? Set.of(0L) : Set.of(0L, ourselves);
    }
}
