package dev.genv.enforcer.journal;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The journal cannot be used at present. */
public final class JournalException extends IOException {
    /** Why a journal that the next run would not find is given up. */
    public static final String DISPLACED = "the folder or a file in it was deleted, replaced or cut off";

    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    private JournalException(ProblemCode code, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** The disk refuses an operation. */
    public static JournalException unwritable(String what, IOException why) {
        return new JournalException(ProblemCode.JOURNAL_UNWRITABLE, what + ": " + Errno.textOf(why), why);
    }

    /** Others may have written or may write the journal. */
    static JournalException foreign(String why) {
        return new JournalException(ProblemCode.JOURNAL_FOREIGN, why, null);
    }

    /** Another service uses the journal. */
    static JournalException locked(String why) {
        return new JournalException(ProblemCode.JOURNAL_LOCKED, why, null);
    }

    /** Returns what is reported. */
    public Problem problem() {
        return new Problem(code, String.valueOf(getMessage()));
    }
}
