package dev.genv.enforcer.store;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;

/** The database cannot be used at present. */
public final class StoreException extends IOException {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;
    private final boolean full;

    StoreException(ProblemCode code, String message) {
        this(code, message, false);
    }

    private StoreException(ProblemCode code, String message, boolean full) {
        super(message);
        this.code = code;
        this.full = full;
    }

    /** The database has its largest size, or its disk is full. */
    static StoreException full(String why) {
        return new StoreException(ProblemCode.DATA_UNWRITABLE, why, true);
    }

    /** The disk refuses an operation. */
    static StoreException unwritable(Object what, Exception why) {
        var text = why instanceof IOException io ? Errno.textOf(io) : String.valueOf(why.getMessage());
        return unwritable("%s: %s".formatted(what, text));
    }

    static StoreException unwritable(String why) {
        return new StoreException(ProblemCode.DATA_UNWRITABLE, why);
    }

    /** Others may have written or may write the database. */
    static StoreException foreign(String why) {
        return new StoreException(ProblemCode.DATA_FOREIGN, why);
    }

    boolean isFull() {
        return full;
    }

    public Problem problem() {
        return new Problem(code, String.valueOf(getMessage()));
    }
}
