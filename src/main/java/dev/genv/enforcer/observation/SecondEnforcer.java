package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.EnforcerFacts;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Optional;

/** Whether another enforcer acts on the state directory, so that this one only observes. */
final class SecondEnforcer {
    private static final String LOCK = ".genv-enforcer.lock";
    /** Without the times of the lease: a text that changes with every observation would be reported with each one. */
    private static final String LEASED =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has not expired";

    private SecondEnforcer() {}

    /** Returns the enforcer that acts instead of this one, as a sentence; empty if this one may act. */
    static Found<Optional<String>> of(EnforcerFacts facts) {
        var other = switch (facts.other()) {
            case null -> null;
            case EnforcerFacts.Other.OnMachine(var pid) ->
                "another enforcer%s acts on this state directory"
                        .formatted(pid == 0 ? "" : " (process %d)".formatted(pid));
            case EnforcerFacts.Other.Leased _ -> LEASED;
        };
        var found = Found.of(Optional.ofNullable(other));
        if (other != null) {
            return found.with(new Problem(ProblemCode.SECOND_ENFORCER, other + ": this one only observes"));
        }
        return facts.unusable().isEmpty()
                ? found
                : found.with(new Problem(
                        ProblemCode.ENFORCER_LOCK_UNUSABLE,
                        "%s %s. Remove the file: it is unknown whether another enforcer acts here too"
                                .formatted(LOCK, facts.unusable())));
    }
}
