package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;

/**
 * Restores each part of what earlier runs left. A part that cannot be restored is lost. The service starts without it, because a start
 * that fails would fail again with the same journal.
 */
final class Restoration {
    private static final Logger LOG = Logger.getLogger(Restoration.class);

    private final List<String> lost = new ArrayList<>();

    /** Restores a part. */
    void restore(String part, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            LOG.errorf(e, "The service starts without a part of the journal that cannot be restored: %s", part);
            lost.add(part);
        }
    }

    /** Returns what could not be restored. */
    List<Problem> problems() {
        return lost.isEmpty()
                ? List.of()
                : List.of(new Problem(ProblemCode.JOURNAL_NOT_RESTORED, String.join(", ", lost)));
    }
}
