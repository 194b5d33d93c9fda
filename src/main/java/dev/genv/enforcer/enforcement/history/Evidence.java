package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Rule.RuleScope;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is known in a cycle for and against its actions. It is valid until the next cycle is recorded. Only {@link History} creates it, so
 * no action is decided before its violation is recorded.
 */
public final class Evidence {
    private static final long MILLIS_PER_TICK = 10;

    private final SeenFleet seen;
    private final Plan plan;
    private final Enforcement enforcement;
    private final Map<String, Claims> claims;
    private final Clocks clocks;
    private final long now;
    private final Map<String, Map<String, Environment>> environments = new HashMap<>();
    /** The devices that the plan detaches for each violation. */
    private final Map<Violation.Key, Set<HostDevice>> detached = new HashMap<>();

    private record HostDevice(String host, int device) {}

    /**
     * Why an action must wait.
     *
     * @param reason for people, as a clause
     * @param left how long after the observation the action must wait; empty if no time alone leads to it
     */
    public record Delay(String reason, Optional<Duration> left) {}

    Evidence(SeenFleet seen, Plan plan, Enforcement enforcement, Map<String, Claims> claims, Clocks clocks, long now) {
        this.seen = seen;
        this.plan = plan;
        this.enforcement = enforcement;
        this.claims = claims;
        this.clocks = clocks;
        this.now = now;
        for (var planned : plan.actions()) {
            if (planned.action() instanceof Action.Detach(var host, var _, var device, var _)) {
                planned.causes()
                        .forEach(cause -> detached.computeIfAbsent(cause.key(), _ -> new HashSet<>())
                                .add(new HostDevice(host, device)));
            }
        }
    }

    public SeenFleet seen() {
        return seen;
    }

    /** When the observation was recorded, by the mark of the clock that counts towards an action. */
    public long mark() {
        return now;
    }

    public Plan plan() {
        return plan;
    }

    /** Whether the service acts on this violation by this action, now or later. */
    public boolean isInForce(Violation cause, Action action) {
        return enforcement.enforces(cause.rule(), action)
                && !isImmune(action)
                && seen.host(action.host()).map(HostReport::readOnlyReason).isEmpty()
                && shield(cause, action).isEmpty();
    }

    /** Returns why the action must not follow from the violation yet; empty if it may. */
    public Optional<Delay> delay(Violation cause, Action action) {
        if (enforcement.grace().isZero()) {
            return Optional.empty();
        }
        var shield = shield(cause, action);
        if (shield.isPresent()) {
            return shield.map(reason -> new Delay(reason, Optional.empty()));
        }
        var left = left(cause, action);
        return left.isPositive()
                ? Optional.of(new Delay("it has not yet lasted " + text(enforcement.grace()), Optional.of(left)))
                : Optional.empty();
    }

    /** Returns the clocks of all violations in force, each with the uid of its processes. */
    Map<Clocks.Key, @Nullable Long> inForce() {
        var keys = new HashMap<Clocks.Key, @Nullable Long>();
        for (var planned : plan.actions()) {
            var action = planned.action();
            for (var cause : planned.causes()) {
                if (isInForce(cause, action)) {
                    var uid = cause.rule().scope() == RuleScope.FLEET
                            ? null
                            : cause.processes().getFirst().uid();
                    ofViolation(cause, action).forEach(key -> keys.put(key, uid));
                    ofUser(cause, action).ifPresent(key -> keys.put(key, uid));
                }
            }
        }
        return keys;
    }

    /** A user whose processes kept breaking a rule gets no new grace period for each young process. */
    private Duration left(Violation cause, Action action) {
        var left = ofViolation(cause, action)
                .map(this::left)
                .min(Duration::compareTo)
                .orElse(enforcement.grace());
        return ofUser(cause, action)
                .map(this::left)
                .filter(ofUser -> ageOf(action).plus(ofUser).compareTo(enforcement.grace()) < 0)
                .filter(ofUser -> ofUser.compareTo(left) < 0)
                .orElse(left);
    }

    private Duration left(Clocks.Key key) {
        var left = enforcement.grace().minus(clocks.elapsed(key, now));
        return left.isNegative() ? Duration.ZERO : left;
    }

    private Duration ageOf(Action action) {
        return action instanceof Action.Terminate(var host, var process, var _)
                ? Duration.ofMillis(
                        (seen.host(host).orElseThrow().ticks() - process.id().startTime()) * MILLIS_PER_TICK)
                : enforcement.grace();
    }

    /**
     * Returns the clocks of the violation: one, or for a quota one for each device that would be detached. The environment is not part of
     * it, because its user could change it, and neither is a process that is terminated for memory, because another may be chosen.
     */
    private Stream<Clocks.Key> ofViolation(Violation cause, Action action) {
        var host = action.host();
        var rule = cause.rule().name();
        var subject = SafeText.bounded(cause.subject());
        if (cause.rule().scope() != RuleScope.FLEET) {
            return Stream.of(new Clocks.Key(host, rule, subject));
        }
        var devices = detached.getOrDefault(cause.key(), Set.of());
        var its = switch (action) {
            case Action.Detach(var _, var _, var device, var _) -> List.of(device);
            case Action.Terminate(var _, var process, var _) -> process.devices();
        };
        return its.stream()
                .filter(device -> devices.contains(new HostDevice(host, device)))
                .map(device -> new Clocks.Key(host, rule, "device %d of %s".formatted(device, subject)));
    }

    /** Returns the clock of the user of a process in its environment, if the state claims that; no other ids, because users choose them. */
    private Optional<Clocks.Key> ofUser(Violation cause, Action action) {
        if (!(action instanceof Action.Terminate(var host, var process, var _)) || !cause.isOf(process)) {
            return Optional.empty();
        }
        var uid = process.uid();
        if (uid == null || uid == 0) {
            return Optional.empty();
        }
        var environment = environmentOf(host, process)
                .map(its -> "environment " + SafeText.bounded(its.eid()))
                .orElse("no environment");
        return Optional.of(new Clocks.Key(host, cause.rule().name(), "uid %d in %s".formatted(uid, environment)));
    }

    /** Returns why what the state claims is not used against a process; empty if it is. */
    private Optional<String> shield(Violation cause, Action action) {
        if (!(action instanceof Action.Terminate(var host, var process, var _))
                || enforcement.grace().isZero()) {
            return Optional.empty();
        }
        var its = claims.get(host);
        var environment = environmentOf(host, process).orElse(null);
        if (its == null || environment == null) {
            return Optional.empty();
        }
        var isStranger = isStranger(host, process, environment);
        if (!enforcement.enforcesWithoutEnvironment() && its.shieldsFromEnvironment(process, environment, isStranger)) {
            return Optional.of("the process is older than the entry of environment %s"
                    .formatted(SafeText.escape(environment.eid())));
        }
        return cause.rule().isEnforcedByUids() && its.shieldsFromOwner(process, environment, isStranger)
                ? Optional.of("the process is older than the entry that makes uid %d the owner of environment %s"
                        .formatted(environment.uid(), SafeText.escape(environment.eid())))
                : Optional.empty();
    }

    private boolean isStranger(String host, GpuProcess process, Environment environment) {
        var user = snapshot(host)
                .map(snapshot -> snapshot.userOf(process.uid(), environment))
                .orElse(null);
        return environment.isStranger(process.uid()) && environment.isStranger(user);
    }

    private Optional<Environment> environmentOf(String host, GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid)
                ? Optional.ofNullable(environments
                        .computeIfAbsent(
                                host,
                                name -> snapshot(name)
                                        .map(Snapshot::environmentsById)
                                        .orElse(Map.of()))
                        .get(eid))
                : Optional.empty();
    }

    private Optional<Snapshot> snapshot(String host) {
        return seen.host(host).map(HostReport::snapshot);
    }

    private static boolean isImmune(Action action) {
        return switch (action) {
            case Action.Terminate(var _, var process, var _) -> process.immunity() != null;
            case Action.Detach(var _, var environment, var _, var _) ->
                environment.ownership().exempt();
        };
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 == 0 ? duration.toSeconds() + " s" : duration.toMillis() + " ms";
    }

    /**
     * What the settings enforce.
     *
     * @param rules whether the service acts on the violations of a rule
     * @param signals whether processes may be signalled at all
     * @param grace how long a violation must have been observed before the service acts on it; zero to act at once, as genv does
     */
    public record Enforcement(Predicate<RuleDefinition> rules, boolean signals, Duration grace) {
        boolean enforces(String rule) {
            return Rules.find(rule).filter(rules).isPresent();
        }

        boolean enforces(RuleDefinition rule, Action action) {
            return rules.test(rule) && (signals || action instanceof Action.Detach);
        }

        /** Whether processes are also terminated if their environment is not active. */
        boolean enforcesWithoutEnvironment() {
            return rules.test(Rules.INACTIVE_ENV_PROCESSES);
        }
    }
}
