package dev.genv.enforcer.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Set;

/** Rejects a path that a user other than these can change, because that user could replace the file. */
public record TrustedOwners(Set<Long> uids) implements FileTree.Inspection {
    public static final int WRITABLE_BY_OTHERS = 0022;
    private static final int STICKY = 01000;

    /** Trusts root and the user of this service. */
    public static TrustedOwners ofThisService() throws Errno {
        var ourselves = FileCalls.effectiveUid();
        return new TrustedOwners(ourselves == 0 ? Set.of(0L) : Set.of(0L, ourselves));
    }

    @Override
    public void inspect(FileTree.Step step, Path at) throws IOException {
        var uid = Integer.toUnsignedLong((int) Files.getAttribute(at, "unix:uid", LinkOption.NOFOLLOW_LINKS));
        if (!uids.contains(uid)) {
            throw new UntrustedException("%s belongs to user %d".formatted(at, uid));
        }
        if (step == FileTree.Step.LINK) {
            return; // a link has no permissions
        }
        var mode = (int) Files.getAttribute(at, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        // In a sticky directory users cannot replace files of others. In the file's own directory they could add files.
        var stickyIsFine = step == FileTree.Step.FOLDER_ABOVE;
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
