package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.saved.SavedCycle;
import dev.genv.enforcer.enforcement.saved.SavedState;
import java.util.List;

/**
 * What a cycle leaves in the journal.
 *
 * @param events its events
 * @param cycle what changes with every cycle
 * @param state everything that a later run needs; the journal writes what changed
 */
public record CycleCommit(List<Event> events, SavedCycle cycle, SavedState state) {}
