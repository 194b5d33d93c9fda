package dev.genv.enforcer.linux;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;

/**
 * The files of a machine or container below its own root. Links are resolved inside this root and never lead out of it.
 */
public record FileTree(Path root) {
    /** The kernel's limit of links in a path. */
    private static final int MAX_LINKS = 40;

    /** The kinds of files on a path. */
    public enum Step {
        /** A directory above the file's directory. */
        FOLDER_ABOVE,
        /** The directory that contains the file, or a link on the path. */
        FOLDER,
        LINK,
        /** The file at the end of the path. */
        FILE
    }

    /** Checks each step of a path, and throws an exception to reject it. */
    public interface Inspection {
        /** Accepts every step. */
        Inspection NONE = (_, _) -> {};

        void inspect(Step step, Path at) throws IOException;
    }

    /** Resolves a path link by link like the kernel, and returns the location of the file. */
    public Path follow(Path file, Inspection inspection) throws IOException {
        var ahead = new ArrayDeque<Path>();
        file.forEach(ahead::add);
        var at = root;
        var links = 0;
        while (!ahead.isEmpty()) {
            var step = next(at, ahead.pop());
            inspection.inspect(ahead.isEmpty() ? Step.FOLDER : Step.FOLDER_ABOVE, at);
            if (!Files.isSymbolicLink(step)) {
                at = step;
                continue;
            }
            if (++links > MAX_LINKS) {
                throw new FileSystemException(file.toString(), null, "Too many levels of symbolic links");
            }
            inspection.inspect(Step.LINK, step);
            var target = Files.readSymbolicLink(step);
            at = target.isAbsolute() ? root : at;
            for (var i = target.getNameCount() - 1; i >= 0; i--) {
                ahead.push(target.getName(i));
            }
        }
        inspection.inspect(Step.FILE, at);
        return at;
    }

    private Path next(Path at, Path name) {
        var parent = at.getParent();
        return switch (name.toString()) {
            case "", "." -> at;
            case ".." -> at.equals(root) || parent == null ? root : parent;
            default -> at.resolve(name);
        };
    }
}
