package dev.genv.enforcer.policy;

import static dev.genv.enforcer.policy.RandomCase.target;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.IDLE_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.INACTIVE_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_MEMORY_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What must hold for every fleet under every policy, however strange. {@code -Dfuzz.seed} and {@code -Dfuzz.runs}. */
class PolicyFuzzTest {

    @Test
    void executedPlanLeavesNoEnforcedRuleBroken() {
        RandomCase.forEach(given -> {
            var gone = given.terminatedForOrPending(given.enforced());
            var after = given.oracle().after(gone, detached(given, true));
            for (var rule : given.enforced()) {
                // The end of another user's process can decide what was undecided.
                if (!rule.equals(KnownRules.IDLE_PROCESSES)) {
                    assertThat(after.isBroken(rule)).as("%s is broken", rule).isFalse();
                }
            }
        });
    }

    @Test
    void everyTerminationForMemoryIsNecessary() {
        RandomCase.forEach(given -> {
            for (var rule : List.of(ENV_MEMORY, MAX_MEMORY_PER_USER)) {
                var wanting = new HashSet<>(Set.of(rule)); // what later rules terminate is not known to this one
                given.enforced().stream()
                        .filter(earlier -> isBefore(earlier, rule))
                        .forEach(wanting::add);
                var gone = given.terminatedForOrPending(wanting);
                for (var planned : given.terminations()) {
                    if (planned.rules().contains(rule)
                            && planned.rules().stream()
                                    .noneMatch(other -> !other.equals(rule) && given.enforces(other))) {
                        var others = new HashSet<>(gone);
                        others.remove(target(planned));
                        assertThat(given.oracle()
                                        .after(others, detached(given, true))
                                        .isBroken(rule))
                                .as("%s is ended without need", target(planned))
                                .isTrue();
                    }
                }
            }
        });
    }

    @Test
    void detachesExactlyTheSurplusInDetachOrder() {
        RandomCase.forEach(given -> {
            var quotas = given.oracle().quotas();
            var expected = new HashSet<Action.Detach>();
            var gone = terminatedBeforeDeviceQuota(given);
            if (given.modes().get(MAX_DEVICES_PER_USER) != RuleMode.OFF) {
                for (var user : quotas.users()) {
                    quotas.detachOrder(user, gone).stream()
                            .limit(Math.max(0, quotas.surplus(user)))
                            .forEach(slot -> expected.addAll(quotas.attachments(user, slot)));
                }
            }
            assertThat(given.detachments().stream()
                            .filter(planned -> planned.rules().contains(MAX_DEVICES_PER_USER))
                            .map(PlannedAction::action))
                    .containsExactlyInAnyOrderElementsOf(expected);
        });
    }

    @Test
    void everyActionHasACause() {
        RandomCase.forEach(given -> {
            for (var planned : given.plan().actions()) {
                assertThat(planned.causes())
                        .isNotEmpty()
                        .isSubsetOf(given.plan().violations())
                        .as("enforced ones first")
                        .isSortedAccordingTo(Comparator.comparing(cause -> !given.enforces(cause.rule())));
                for (var rule : planned.rules()) {
                    assertThat(canCause(given, rule, planned.action()))
                            .as("%s wants %s", rule, planned.action())
                            .isTrue();
                }
            }
        });
    }

    @Test
    void violatingProcessesMatchTheOracle() {
        RandomCase.forEach(given -> {
            for (var rule :
                    List.of(NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES, ENV_DEVICES, KnownRules.IDLE_PROCESSES)) {
                var found = given.plan().violations().stream()
                        .filter(violation -> violation.rule().equals(rule))
                        .flatMap(violation -> violation.processes().stream()
                                .map(process -> new HostProcess(String.valueOf(violation.host()), process.id())))
                        .toList();
                var off = given.modes().get(rule) == RuleMode.OFF;
                assertThat(found)
                        .containsExactlyInAnyOrderElementsOf(
                                off ? Set.of() : given.oracle().violatingProcesses(rule));
            }
        });
    }

    @Test
    void planDoesNotDependOnInputOrder() {
        RandomCase.forEach(given -> {
            var shuffled =
                    given.random().shuffled(given.fleet()).with(given.fleet().idleness());
            assertThat(KnownRules.policy(given.modes(), given.limits(), given.memory())
                            .check(shuffled, given.pending()))
                    .isEqualTo(given.plan());
        });
    }

    @Test
    void noProcessIsTerminatedForUnknownData() {
        RandomCase.forEach(given -> {
            for (var planned : given.terminations()) {
                var process = ((Action.Terminate) planned.action()).process();
                if (planned.rules().stream().anyMatch(RuleDefinition::isOfMemberships)) {
                    assertThat(process.membership()).isNotInstanceOf(Membership.Unknown.class);
                }
                if (planned.rules().contains(ENV_MEMORY)) {
                    assertThat(process.usage())
                            .anyMatch(
                                    use -> use.memory() != null && use.memory().bytes() > 0);
                }
            }
        });
    }

    @Test
    void randomFleetsBreakEveryRuleOften() {
        var broken = new HashMap<RuleDefinition, Integer>();
        var together = 0L;
        for (var seed = 0; seed < 1_000; seed++) {
            var given = RandomCase.of(seed);
            given.plan().violations().stream()
                    .map(Violation::rule)
                    .distinct()
                    .forEach(rule -> broken.merge(rule, 1, Integer::sum));
            together += given.terminations().stream()
                    .filter(planned -> planned.rules().size() > 1)
                    .count();
        }
        assertThat(broken)
                .containsOnlyKeys(KnownRules.all())
                .allSatisfy((_, times) -> assertThat(times).isGreaterThan(200));
        assertThat(together).as("ended for several rules").isGreaterThan(500);
    }

    private static List<Action.Detach> detached(RandomCase given, boolean enforcedOnly) {
        return given.detachments().stream()
                .filter(planned -> !enforcedOnly || planned.rules().stream().anyMatch(given::enforces))
                .map(planned -> (Action.Detach) planned.action())
                .toList();
    }

    private static Set<HostProcess> terminatedBeforeDeviceQuota(RandomCase given) {
        return given.terminatedForOrPending(given.enforced().stream()
                .filter(rule -> isBefore(rule, MAX_DEVICES_PER_USER))
                .collect(Collectors.toSet()));
    }

    private static boolean isBefore(RuleDefinition first, RuleDefinition second) {
        return Rules.definitions().indexOf(first) < Rules.definitions().indexOf(second);
    }

    /** Whether the rule may want this. The quota ends whoever names an environment where it is detached. */
    private static boolean canCause(RandomCase given, RuleDefinition rule, Action action) {
        if (given.modes().get(rule) == RuleMode.OFF) {
            return false;
        }
        return switch (action) {
            case Action.Detach detach ->
                rule.equals(MAX_DEVICES_PER_USER)
                        || (rule.equals(IDLE_DEVICES)
                                && given.oracle()
                                        .idleAttachments()
                                        .contains(new Appearances.Key(
                                                detach.host(),
                                                detach.environment().eid(),
                                                detach.device())));
            case Action.Terminate terminate
            when rule.equals(MAX_DEVICES_PER_USER) ->
                detached(given, false).stream()
                        .anyMatch(detach -> detach.host().equals(terminate.host())
                                && terminate.process().uses(detach.device())
                                && terminate
                                        .process()
                                        .names(detach.environment().eid()));
            case Action.Terminate terminate ->
                given.oracle().violatingProcesses(rule).contains(terminate.target());
        };
    }
}
