package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A violation from its appearance to its resolution.
 *
 * @param id stays the same as long as the violation is active
 * @param violation as it was last observed
 * @param mode the weaker one of the modes of its rule and of the service
 * @param cycles the number of cycles that found it
 * @param actions the actions on it, oldest first
 * @param recency its position among all entries, independent of the wall clock
 * @param next the actions that follow if nothing changes, the earliest first; empty if the last cycle did not find it
 */
public record ViolationRecord(
        String id,
        Violation violation,
        RuleMode mode,
        boolean active,
        Instant firstSeen,
        Instant lastSeen,
        int cycles,
        List<ActionNote> actions,
        Recency recency,
        List<NextAction> next) {

    /**
     * The position of an entry among all entries.
     *
     * @param number the number of its appearance, higher than that of every earlier one
     * @param latest the latest time at which any entry was observed by then; it is after {@code lastSeen} if the wall clock was set
     *     back. Queries by time use it
     */
    public record Recency(long number, Instant latest) {}

    /**
     * An action on a violation.
     *
     * @param sent the signal that was sent; empty if none was
     * @param detail the reason for the outcome; null if it needs none
     */
    public record ActionNote(
            Target target,
            Optional<Signal> sent,
            Instant at,
            Outcome outcome,
            @Nullable String detail) {
        /**
         * What the action concerns: a process that is to be terminated, or an attachment that is to be removed.
         *
         * @param host where it is; a violation may be on several hosts
         * @param pid null for an attachment
         * @param environment null for a process
         * @param device null for a process
         */
        public record Target(
                String host,
                @Nullable Integer pid,
                @Nullable String environment,
                @Nullable Integer device) {
            public static Target of(Action action) {
                return switch (action) {
                    case Action.Terminate(var host, var process, var _) -> new Target(host, process.pid(), null, null);
                    case Action.Detach(var host, var environment, var device, var _) ->
                        new Target(host, null, environment.eid(), device);
                };
            }

            public boolean isProcess() {
                return pid != null;
            }

            /** The kind of action: {@code terminate} or {@code detach}. */
            public String type() {
                return isProcess() ? "terminate" : "detach";
            }
        }

        static ActionNote of(Action action, Result result, Instant at) {
            Optional<Signal> sent = action instanceof Action.Terminate terminate
                            && !result.outcome().isSkipped()
                    ? Optional.of(terminate.signal())
                    : Optional.empty();
            return new ActionNote(Target.of(action), sent, at, result.outcome(), result.detail());
        }

        /** The name of the signal; null if none was sent. */
        public @Nullable String signal() {
            return sent.map(Signal::name).orElse(null);
        }

        /** Whether another action is the same except for its time. */
        boolean repeats(ActionNote other) {
            return equals(new ActionNote(other.target, other.sent, at, other.outcome, other.detail));
        }
    }

    /** Creates the entry of a violation that a cycle found for the first time. */
    public static ViolationRecord begin(
            Violation violation, RuleMode mode, Instant at, Recency recency, List<NextAction> next) {
        return new ViolationRecord(
                UUID.randomUUID().toString(), violation, mode, true, at, at, 1, List.of(), recency, next);
    }

    /**
     * Returns this entry after more cycles found the violation, the last one at this time. The wall clock may have been set back.
     *
     * @param latest the latest time at which any entry was observed by then
     */
    public ViolationRecord continued(
            int more, Violation now, RuleMode nowMode, Instant at, Instant latest, List<NextAction> following) {
        return new ViolationRecord(
                id,
                now,
                nowMode,
                active,
                firstSeen,
                at.isBefore(firstSeen) ? firstSeen : at,
                cycles + more,
                actions,
                new Recency(recency.number(), latest),
                following);
    }

    /** Returns this entry with one more action; only the latest ones are kept. */
    ViolationRecord with(ActionNote action) {
        var first = Math.max(0, actions.size() + 1 - ViolationRegistry.MAX_ACTIONS);
        var all = Stream.concat(actions.stream().skip(first), Stream.of(action)).toList();
        return new ViolationRecord(id, violation, mode, active, firstSeen, lastSeen, cycles, all, recency, next);
    }

    /** Returns this entry after a cycle that did not find the violation. */
    ViolationRecord notFound(boolean isOver) {
        return new ViolationRecord(
                id, violation, mode, !isOver, firstSeen, lastSeen, cycles, actions, recency, List.of());
    }

    /** Returns this entry with the names of the accounts that are known by now, so that a user has one name; itself if there is no new one. */
    ViolationRecord named(Fleet fleet) {
        var host = violation.host();
        if (host == null || violation.processes().stream().noneMatch(GpuProcess::isNameless)) {
            return this;
        }
        var processes = violation.processes().stream()
                .map(process -> process.isNameless()
                        ? fleet.host(host)
                                .flatMap(its ->
                                        its.details().accounts().firstNameOf(Objects.requireNonNull(process.owner())))
                                .map(name -> process.withUser(new User(name, User.Source.ACCOUNT)))
                                .orElse(process)
                        : process)
                .toList();
        return processes.equals(violation.processes()) ? this : with(violation.with(processes));
    }

    private ViolationRecord with(Violation other) {
        return new ViolationRecord(id, other, mode, active, firstSeen, lastSeen, cycles, actions, recency, next);
    }

    /** Why the service has not executed an action yet. */
    public enum WaitReason implements Labelled {
        /** The violation was not observed for the grace period. */
        GRACE,
        /** The policy before a change does not ask for the action. */
        POLICY_GRACE,
        /** The process got SIGTERM and has time to exit. */
        KILL_AFTER,
        /** It is unknown whether the process got SIGTERM, because the answer of its host was lost. */
        UNCONFIRMED_SIGNAL,
        /** The termination limit of the cycle is reached. */
        TERMINATION_LIMIT,
        /** The action failed, or its observation became too old: the next cycle decides again. */
        NEXT_CYCLE
    }

    /**
     * An action that the service executes if nothing changes until then.
     *
     * @param sent the signal of a termination; empty for a detachment
     * @param notBefore the first cycle after this time, by the wall clock, executes it. The time may have passed: then it is the next cycle,
     *     or a later one because of the termination limit
     */
    public record NextAction(Target target, Optional<Signal> sent, Instant notBefore, WaitReason because) {
        public static NextAction of(Action action, Instant notBefore, WaitReason because) {
            return new NextAction(
                    Target.of(action),
                    action instanceof Action.Terminate terminate ? Optional.of(terminate.signal()) : Optional.empty(),
                    notBefore,
                    because);
        }

        /** The name of the signal; null for a detachment. */
        public @Nullable String signal() {
            return sent.map(Signal::name).orElse(null);
        }
    }

    /**
     * Whether another entry of the violation differs at most in what changes while cycles find it: its number of cycles, its last time, the
     * amounts of memory, and what follows next.
     */
    public boolean isContinuedBy(ViolationRecord other) {
        var others = other.violation;
        return mode == other.mode
                && actions.equals(other.actions)
                && violation.key().equals(others.key())
                && violation.hosts().equals(others.hosts())
                && Objects.equals(violation.user(), others.user())
                && Objects.equals(violation.countedUser(), others.countedUser())
                && Objects.equals(violation.environment(), others.environment())
                && violation.devices().equals(others.devices())
                && ids(violation).equals(ids(others));
    }

    /** Its size: that of its text in characters, whose number users choose. Names of components stand for the heap of the objects. */
    long size() {
        return toString().length();
    }

    private static List<ProcessId> ids(Violation violation) {
        return violation.processes().stream().map(GpuProcess::id).toList();
    }
}
