package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.remote;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** A registry, and the cycles that it records. */
abstract class RegistryFixture {
    static final Instant START = Instant.parse("2026-11-20T09:22:28Z");

    final ViolationRegistry registry = new ViolationRegistry(3);
    Instant now = START;

    static Violation quota(String... hosts) {
        return new Violation(
                KnownRules.MAX_DEVICES_PER_USER,
                hosts.length == 1 ? hosts[0] : null,
                Set.of(hosts),
                "user raz",
                "…",
                "raz",
                null,
                List.of(0),
                List.of());
    }

    List<ViolationRecord> all() {
        return registry.find(entry -> true, 100);
    }

    static int pid(ViolationRecord entry) {
        return entry.violation().processes().getFirst().pid();
    }

    ViolationRegistry.Update observeViolations(Violation... violations) {
        return update(List.of(), violations);
    }

    ViolationRegistry.Update update(List<ActionRecord> records, Violation... violations) {
        return record(
                registry,
                new Plan(List.of(violations), List.of(), List.of()),
                cycleOutcome(records),
                _ -> RuleMode.ENFORCE,
                remote(host("gpu-1"), host("a"), host("b"), host("c"), host("d"), host("e")));
    }

    /** Records a cycle, and shows it to readers at once. */
    static ViolationRegistry.Update record(
            ViolationRegistry registry,
            Plan plan,
            ViolationRegistry.CycleOutcome outcome,
            Function<RuleDefinition, RuleMode> modes,
            Fleet fleet) {
        var update = registry.record(plan, outcome, modes, fleet);
        registry.publish();
        return update;
    }

    ViolationRegistry.Update observeFleet(Fleet fleet) {
        return record(registry, Plan.EMPTY, cycleOutcome(List.of()), _ -> RuleMode.ENFORCE, fleet);
    }

    static HostBuilder unobserved(String host) {
        return host(host).missing(SnapshotPart.values());
    }

    static Violation broken(RuleDefinition rule, GpuProcess... processes) {
        return new Violation(rule, "gpu-1", "it", "…", null, null, List.of(), List.of(processes));
    }

    ViolationRegistry.CycleOutcome cycleOutcome(List<ActionRecord> records) {
        return new ViolationRegistry.CycleOutcome(records, Set.of(), now, Map.of());
    }

    static Violation strayOn(String host, int pid) {
        return new Violation(
                KnownRules.NON_ENV_PROCESSES,
                host,
                "process " + pid,
                "Process %d is not running in a GPU environment".formatted(pid),
                null,
                null,
                List.of(0),
                List.of(process(pid).uses(0).build()));
    }
}
