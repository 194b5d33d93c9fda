package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.RandomFleets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** A random fleet under a random policy, and the plan that was made for it. */
record RandomCase(
        RandomFleets random,
        Fleet fleet,
        Set<HostProcess> pending,
        Map<RuleDefinition, RuleMode> modes,
        Limits limits,
        Limits memory,
        Plan plan) {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_120);
    private static final int RUNS = Integer.getInteger("fuzz.runs", 1_500);

    static void forEach(Consumer<RandomCase> property) {
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            try {
                property.accept(of(seed));
            } catch (AssertionError | RuntimeException broken) {
                throw new AssertionError("see it alone with -Dfuzz.seed=" + seed + " -Dfuzz.runs=1", broken);
            }
        }
    }

    static RandomCase of(long seed) {
        var random = new RandomFleets(seed);
        var fleet = random.next();
        fleet = fleet.with(idleness(random, fleet));
        var pending = random.pending(fleet);
        var modes = modes(random);
        var limits = limits(random);
        var memory = memory(random);
        return new RandomCase(
                random,
                fleet,
                pending,
                modes,
                limits,
                memory,
                KnownRules.policy(modes, limits, memory).check(fleet, pending));
    }

    PolicyOracle oracle() {
        return new PolicyOracle(fleet, limits, memory);
    }

    boolean enforces(RuleDefinition rule) {
        return modes.get(rule) == RuleMode.ENFORCE;
    }

    List<PlannedAction> terminations() {
        return plan.actions().stream()
                .filter(planned -> planned.action() instanceof Action.Terminate)
                .toList();
    }

    List<PlannedAction> detachments() {
        return plan.actions().stream()
                .filter(planned -> planned.action() instanceof Action.Detach)
                .toList();
    }

    /** Those that will be gone: what is ended for one of these rules, and what was asked to end before. */
    Set<HostProcess> terminatedForOrPending(Set<RuleDefinition> rules) {
        var gone = new HashSet<>(pending);
        for (var planned : terminations()) {
            if (planned.rules().stream().anyMatch(rules::contains)) {
                gone.add(target(planned));
            }
        }
        return gone;
    }

    Set<RuleDefinition> enforced() {
        return modes.keySet().stream().filter(this::enforces).collect(Collectors.toSet());
    }

    static HostProcess target(PlannedAction planned) {
        return ((Action.Terminate) planned.action()).target();
    }

    private static Map<RuleDefinition, RuleMode> modes(RandomFleets random) {
        var modes = new HashMap<RuleDefinition, RuleMode>();
        for (var rule : KnownRules.all()) {
            modes.put(rule, random.oneIn(2) ? RuleMode.ENFORCE : random.pick(List.of(RuleMode.values())));
        }
        return modes;
    }

    private static Limits limits(RandomFleets random) {
        var perUser = new HashMap<String, Integer>();
        for (var user : List.of("raz", "bob", "1003", "nobody")) {
            if (random.oneIn(3)) {
                perUser.put(user, random.random().nextInt(4));
            }
        }
        return new Limits(random.oneIn(4) ? null : random.random().nextInt(6), perUser);
    }

    private static Limits memory(RandomFleets random) {
        return new Limits(
                random.oneIn(3) ? null : random.random().nextInt(8_000),
                random.oneIn(3) ? Map.of("1001", random.random().nextInt(4_000)) : Map.of());
    }

    /** Around the limit. What processes share is at most as long as their devices were quiet. */
    private static Idleness idleness(RandomFleets random, Fleet fleet) {
        var quiet = new HashMap<HostDevice, Duration>();
        var attachments = new HashMap<Appearances.Key, Duration>();
        var processes = new HashMap<HostProcess, Duration>();
        for (var snapshot : fleet.snapshots()) {
            // In a fixed order, so that a seed gives the same case in each run.
            snapshot.listedDevices().stream().sorted().forEach(device -> {
                if (!random.oneIn(6)) {
                    quiet.put(new HostDevice(snapshot.host(), device), hours(random));
                }
            });
            for (var device : snapshot.devices()) {
                if (snapshot.processes().stream().noneMatch(process -> process.uses(device.index()))) {
                    device.attachments()
                            .forEach(attachment -> attachments.put(
                                    new Appearances.Key(snapshot.host(), attachment.eid(), device.index()),
                                    hours(random)));
                }
            }
            snapshot.processes()
                    .forEach(process -> processes.put(new HostProcess(snapshot.host(), process.id()), hours(random)));
        }
        return new Idleness(Map.of(), quiet, attachments, processes);
    }

    private static Duration hours(RandomFleets random) {
        return Duration.ofHours(2 + random.random().nextInt(6));
    }
}
