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
    public Optional<Restored> takeRestored() {
        return Optional.empty();
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
    public boolean commit(CycleCommit cycle) {
        return false;
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
