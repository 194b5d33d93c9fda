package dev.genv.enforcer.store;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;

/** The database cannot be used at present. */
public final class StoreException extends IOException {
    private static final long serialVersionUID = 1L;

    private final ProblemCode code;

    StoreException(ProblemCode code, String message) {
        super(message);
        this.code = code;
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

    /** Returns what is reported. */
    public Problem problem() {
        return new Problem(code, String.valueOf(getMessage()));
    }
}
