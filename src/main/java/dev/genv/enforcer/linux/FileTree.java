package dev.genv.enforcer.linux;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The files of a machine or container below its own root. Links are resolved inside this root and never lead out of it.
 *
 * @param folders paths above files that are no links; null if each is examined every time
 */
public record FileTree(Path root, @Nullable Set<Path> folders) {
    /** The kernel's limit of links in a path. */
    private static final int MAX_LINKS = 40;

    public FileTree(Path root) {
        this(root, null);
    }

    /** Returns the same files for one observation, which examines once whether a path above a file is a link. */
    public FileTree forOneObservation() {
        return new FileTree(root, new HashSet<>());
    }

    public enum Step {
        FOLDER_ABOVE,
        /** The directory that contains the file, or a link on the path. */
        FOLDER,
        LINK,
        FILE
    }

    /** Checks each step of a path, and throws an exception to reject it. */
    public interface Inspection {
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
            if (!(ahead.isEmpty() ? Files.isSymbolicLink(step) : isLink(step))) {
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

    private boolean isLink(Path path) {
        if (folders == null) {
            return Files.isSymbolicLink(path);
        }
        return !folders.contains(path) && (Files.isSymbolicLink(path) || !folders.add(path));
    }

    private Path next(Path at, Path name) {
        var parent = at.getParent();
        return switch (name.toString()) {
            case "", "." -> at;
            case ".." -> at.equals(root) || parent == null ? root : parent;
            default -> at.resolve(name);
        };
    }

    /** Rejects a path that a user other than these can change, because that user could replace the file. */
    public record TrustedOwners(Set<Long> uids) implements Inspection {
        public static final int WRITABLE_BY_OTHERS = 0022;
        private static final int STICKY = 01000;

        /** Trusts root and the user of this service. */
        public static TrustedOwners ofThisService() throws Errno {
            var ourselves = FileCalls.effectiveUid();
            return new TrustedOwners(ourselves == 0 ? Set.of(0L) : Set.of(0L, ourselves));
        }

        @Override
        public void inspect(Step step, Path at) throws IOException {
            // Only links are links, and the root: /proc/1/root is one.
            var options = step == Step.LINK ? new LinkOption[] {LinkOption.NOFOLLOW_LINKS} : new LinkOption[0];
            var attributes = Files.readAttributes(at, "unix:uid,mode", options);
            check(step, at, Integer.toUnsignedLong((int) requireNonNull(attributes.get("uid"))), (int)
                    requireNonNull(attributes.get("mode")));
        }

        /** Rejects what has this owner and mode at a step of a path. */
        public void check(Step step, Path at, long uid, int mode) throws UntrustedException {
            if (!uids.contains(uid)) {
                throw new UntrustedException("%s belongs to user %d".formatted(at, uid));
            }
            if (step == Step.LINK) {
                return; // a link has no permissions
            }
            // In a sticky directory users cannot replace files of others. In the file's own directory they could add
            // files.
            var stickyIsFine = step == Step.FOLDER_ABOVE;
            if ((mode & WRITABLE_BY_OTHERS) != 0 && !(stickyIsFine && (mode & STICKY) != 0)) {
                throw new UntrustedException("others can write " + at);
            }
        }

        /** A user other than the trusted ones may have replaced the file. The message says which user or where. */
        public static final class UntrustedException extends IOException {
            private static final long serialVersionUID = 1L;

            public UntrustedException(String message) {
                super(message);
            }
        }
    }
}
