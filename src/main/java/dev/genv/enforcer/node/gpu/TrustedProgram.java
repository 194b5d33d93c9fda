package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.gpu.ToolException;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.TrustedOwners;
import dev.genv.enforcer.linux.TrustedOwners.UntrustedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds a program that only root or the service's own user can have installed. */
final class TrustedProgram {
    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    private TrustedProgram() {}

    /**
     * Finds a program by its path, or by its name in the standard directories.
     *
     * @throws ToolException if there is none, or if another user could replace it
     */
    static Path find(String program) throws ToolException {
        if (program.contains("/")) {
            return requireTrusted(Path.of(program).toAbsolutePath());
        }
        for (var folder : ChildProcess.PATH.split(":", -1)) {
            var candidate = Path.of(folder, program);
            if (Files.isExecutable(candidate)) {
                return requireTrusted(candidate);
            }
        }
        throw new ToolException(program + " is not in any of " + ChildProcess.PATH);
    }

    private static Path requireTrusted(Path program) throws ToolException {
        try {
            if (!Files.isRegularFile(program) || !Files.isExecutable(program)) {
                throw new ToolException(program + " is not a program");
            }
            OWN_FILES.follow(program, TrustedOwners.ofThisService());
            return program;
        } catch (UntrustedException e) {
            throw new ToolException("%s is not used: %s".formatted(program, e.getMessage()), e);
        } catch (IOException e) {
            throw new ToolException(program + " cannot be examined: " + e.getMessage(), e);
        }
    }
}
