package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.history.state.BoundedText;
import dev.genv.enforcer.policy.plan.Violation;
import org.jspecify.annotations.Nullable;

/** What breaks rules. A process that breaks different rules in turn has broken rules all the time. */
public record Subject(@Nullable String host, String name) {
    static Subject of(Violation.Key key) {
        return new Subject(key.host(), BoundedText.of(key.subject()));
    }
}
