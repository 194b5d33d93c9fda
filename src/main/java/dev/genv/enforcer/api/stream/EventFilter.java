package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.query.ViolationFilter;
import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.event.Event.EventContent;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The events that a reader receives.
 *
 * @param others which hosts' problems, and whether the start of the service; null for events of violations only
 */
record EventFilter(
        Predicate<ViolationRecord> violations, @Nullable Predicate<@Nullable String> others)
        implements Predicate<Event> {

    /** Selects the events of violations. */
    static EventFilter ofViolations(QueryParameters parameters) {
        return new EventFilter(ViolationFilter.subject(parameters), null);
    }

    /** Selects events of all kinds. A rule and a user belong to violations only. */
    static EventFilter of(QueryParameters parameters) {
        var host = parameters.get("host");
        var onlyViolations = parameters.get("rule") != null || parameters.get("user") != null;
        return new EventFilter(
                ViolationFilter.subject(parameters), onlyViolations ? null : its -> host == null || host.equals(its));
    }

    @Override
    public boolean test(Event event) {
        return switch (event.content()) {
            case EventContent.ViolationOpened(var violation) -> violations.test(violation);
            case EventContent.ActionRecorded(var violation, var _) -> violations.test(violation);
            case EventContent.ViolationResolved(var violation) -> violations.test(violation);
            case EventContent.ProblemBegan(var host, var _) -> others != null && others.test(host);
            case EventContent.ProblemEnded(var host, var _) -> others != null && others.test(host);
            case EventContent.ServiceStarted _ -> others != null && others.test(null);
        };
    }
}
