package dev.genv.enforcer.enforcement.journal;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An action that is about to be executed.
 *
 */
public record ActionIntent(Key key, Instant at, PlannedAction planned) {
    /**
     * Identifies an intent.
     *
     * @param id the number, higher than that of every earlier intent
     */
    public record Key(long id) {}

    /**
     * What became of an intent.
     *
     * @param result the result; null if the action was not executed
     */
    public record Outcome(Key key, Instant at, @Nullable Result result) {}
}
