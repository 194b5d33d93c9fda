package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.model.problem.Problem;
import java.util.List;
import java.util.Optional;

/** The journal of a service that has none. */
final class NoJournal implements Journal {
    @Override
    public boolean isEnabled() {
        return false;
    }

    @Override
    public Restored restored() {
        return Restored.NOTHING;
    }

    @Override
    public Optional<Restored> takeLate() {
        return Optional.empty();
    }

    @Override
    public long lastSequence() {
        return 0;
    }

    @Override
    public void begin(List<ActionIntent> intents) {
        // nothing is kept
    }

    @Override
    public void end(ActionIntent.Outcome outcome) {
        // nothing is kept
    }

    @Override
    public void commit(CycleCommit cycle) {
        // nothing is kept
    }

    @Override
    public List<Problem> problems() {
        return List.of();
    }

    @Override
    public void close() {
        // nothing is open
    }
}
