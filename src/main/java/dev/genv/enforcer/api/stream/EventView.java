package dev.genv.enforcer.api.stream;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.api.view.HostView.ProblemView;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.api.view.ViolationView.ActionView;
import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.event.Event.EventContent;
import dev.genv.enforcer.model.problem.Problem;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The data of an event; only the fields of its type are present. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record EventView(
        String type,
        Instant at,
        @Nullable ViolationView violation,
        @Nullable ActionView action,
        @Nullable String host,
        @Nullable ProblemView problem,
        @Nullable String version,
        @Nullable String mode) {

    static EventView of(Event event) {
        var at = event.at();
        return switch (event.content()) {
            case EventContent.ViolationOpened(var violation) ->
                ofViolation("violation_opened", at, ViolationView.of(violation), null);
            case EventContent.ActionRecorded(var violation, var action) ->
                ofViolation("action", at, ViolationView.of(violation), ActionView.of(action));
            case EventContent.ViolationResolved(var violation) ->
                ofViolation("violation_resolved", at, ViolationView.of(violation), null);
            case EventContent.ProblemBegan(var host, var problem) -> ofProblem("problem_began", at, host, problem);
            case EventContent.ProblemEnded(var host, var problem) -> ofProblem("problem_ended", at, host, problem);
            case EventContent.ServiceStarted(var version, var mode) ->
                new EventView("service_started", at, null, null, null, null, version, mode);
        };
    }

    private static EventView ofViolation(
            String type, Instant at, ViolationView violation, @Nullable ActionView action) {
        return new EventView(type, at, violation, action, null, null, null, null);
    }

    private static EventView ofProblem(String type, Instant at, String host, Problem problem) {
        var view = ProblemView.of(problem);
        return new EventView(type, at, null, null, host, view, null, null);
    }
}
