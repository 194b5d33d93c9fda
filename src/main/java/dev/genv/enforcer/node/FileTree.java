package dev.genv.enforcer.node;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;

/**
 * The files of a machine, or of a container, below its own root. A link leads to where it would lead whoever lives there,
 * and never out of it.
 */
record FileTree(Path root) {
    /** As many as the kernel follows. */
    private static final int MOST_LINKS = 40;

    /** What is come by on the way to a file. */
    enum Step {
        /** A folder somewhere above. */
        FOLDER_ABOVE,
        /** The folder that holds the file, or a link on the way to it. */
        FOLDER,
        LINK,
        /** The end of the way. */
        FILE
    }

    /** Looks at each step of a way, and ends it with an exception. */
    interface Inspection {
        /** Finds nothing wrong anywhere. */
        Inspection NONE = (_, _) -> {};

        void inspect(Step step, Path at) throws IOException;
    }

    /** Goes to a file as the kernel does, link by link, and tells where it really is. */
    Path follow(Path file, Inspection inspection) throws IOException {
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
            if (++links > MOST_LINKS) {
                throw new FileSystemException(file.toString(), null, "too many links");
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
