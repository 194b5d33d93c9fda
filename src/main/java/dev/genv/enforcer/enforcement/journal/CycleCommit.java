package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.saved.SavedState;
import java.util.List;

/**
 * What a cycle leaves in the journal, which writes what changed. Users choose the size of the violations and of the history, so the
 * journal leaves out what is too large.
 *
 * @param events its events, and those of earlier cycles that may not be on the disk
 * @param cycle what changes with every cycle
 * @param state what a later run needs in any case
 * @param violations the active violations
 * @param history the history of genv's state, for grace periods; it is of use as a whole only
 */
public record CycleCommit(
        List<Event> events, SavedCycle cycle, SavedState state, SavedState violations, SavedState history) {
    /** Returns everything that is saved. */
    public SavedState saved() {
        return state.with(violations).with(history);
    }
}
