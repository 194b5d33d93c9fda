package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.model.problem.Problem;
import java.util.List;
import java.util.Optional;

/**
 * The memory of the service beyond its own life. No method throws because of the disk, and none waits longer than a fixed time for it:
 * the service goes on without the journal, and {@link #problems} says so.
 */
public interface Journal extends AutoCloseable {
    /** Keeps nothing. */
    Journal NONE = new NoJournal();

    /** Whether it keeps anything. It does not if it could not be read at the start. */
    boolean isEnabled();

    /** Returns what the earlier runs left, once. Empty if it could not be read. */
    Optional<Restored> takeRestored();

    /** Records actions that are about to be executed. They are on the disk when it returns, unless the disk takes too long. */
    void begin(List<ActionIntent> intents);

    /** Records the result of an action soon, without waiting. */
    void end(ActionIntent.Outcome outcome);

    /** Records a cycle. Returns whether it is on the disk; if not, the disk may still take it later. */
    boolean commit(CycleCommit cycle);

    /** Returns what is wrong with the journal at present. */
    List<Problem> problems();

    /** Writes what is left, and releases the journal for other services. */
    @Override
    void close();
}
