package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.Store.CycleCommit;
import dev.genv.enforcer.enforcement.report.Store.Restored;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import java.util.List;
import java.util.UUID;

/** Keeps nothing. */
public final class NoStore implements Store {
    /** Returns empty records that are not stored. */
    public static Records records(ViolationRegistry registry) {
        return new Records(registry, new EventLog(), new NoStore(), List.of());
    }

    @Override
    public UUID id() {
        return new UUID(0, 0);
    }

    @Override
    public Restored restore() {
        return Restored.nothing(false);
    }

    @Override
    public void begin(SavedState entries) {
        // nothing is kept
    }

    @Override
    public boolean commit(CycleCommit cycle) {
        return true;
    }

    @Override
    public List<Problem> problems() {
        return List.of();
    }
}
