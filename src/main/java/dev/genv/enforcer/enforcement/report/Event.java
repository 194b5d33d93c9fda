package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.Problem;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Something that happened.
 *
 * @param sequence its position among all events, higher than that of every earlier one. It decides the order, because the wall clock
 *     may be set back
 * @param at when it was recorded, by the wall clock
 */
public record Event(long sequence, Instant at, EventContent content) {
    /** Returns whose part of the past it is: the user's whose process an action concerned, or else that of the violation. */
    public Share share() {
        return switch (content) {
            case EventContent.ActionRecorded(var its, var action)
            when action.target().isProcess() ->
                Share.of(
                        its.violation().host(),
                        its.violation().processes().stream()
                                .filter(process -> Objects.equals(
                                        process.pid(), action.target().pid()))
                                .findFirst());
            case EventContent.OfViolation its -> Share.of(its.violation().violation());
            case EventContent.OfProblem its -> new Share(its.host(), "");
            case EventContent.PolicyChanged _, EventContent.ServiceStarted _ -> new Share("", "");
        };
    }

    public sealed interface EventContent {
        /** The kinds of events by their names, which are the same in the API and in the database. */
        Map<String, Class<? extends EventContent>> TYPES = Map.of(
                "violation_opened", ViolationOpened.class,
                "action", ActionRecorded.class,
                "violation_resolved", ViolationResolved.class,
                "problem_began", ProblemBegan.class,
                "problem_ended", ProblemEnded.class,
                "policy_changed", PolicyChanged.class,
                "service_started", ServiceStarted.class);

        /** The name of the kind of event. */
        default String type() {
            return TYPES.entrySet().stream()
                    .filter(type -> type.getValue().isInstance(this))
                    .findFirst()
                    .orElseThrow()
                    .getKey();
        }

        /** What happened to a violation. */
        sealed interface OfViolation extends EventContent {
            /** The violation as it was then. */
            ViolationRecord violation();
        }

        /** What happened to a problem of a host. */
        sealed interface OfProblem extends EventContent {
            String host();

            Problem problem();
        }

        /** A cycle found a violation for the first time. */
        record ViolationOpened(ViolationRecord violation) implements OfViolation {}

        /** The result of an action on a violation, as it is then. An action for several violations has one event for each. */
        record ActionRecorded(ViolationRecord violation, ActionNote action) implements OfViolation {}

        /** A cycle found that a violation is over. */
        record ViolationResolved(ViolationRecord violation) implements OfViolation {}

        /** A cycle found a problem for the first time. */
        record ProblemBegan(String host, Problem problem) implements OfProblem {}

        /** A cycle no longer found a problem. */
        record ProblemEnded(String host, Problem problem) implements OfProblem {}

        /** Other limits or modes of rules apply from this cycle on. Each change is a clause. */
        record PolicyChanged(List<String> changes) implements EventContent {}

        /** The service was started in the mode {@code enforce} or {@code audit}. */
        record ServiceStarted(String version, String mode) implements EventContent {}
    }
}
