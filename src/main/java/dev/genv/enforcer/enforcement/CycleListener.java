package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import java.util.List;

/** A part of the service that takes over each cycle at its end. */
@FunctionalInterface
public interface CycleListener {
    /** Takes over a cycle. It never blocks. */
    void accept(CycleReport report);

    /** Returns what is wrong with this part at present, which is reported for every host. */
    default List<Problem> problems() {
        return List.of();
    }
}
