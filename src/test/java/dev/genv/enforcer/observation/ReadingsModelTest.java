package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.Plans;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The state is read before nvidia-smi starts and after it answered. Random pairs of readings: 812 of alice names environment a and uses device 0,
 * and 813 of bob names none and uses device 1, which b may hold. What a user has in one reading counts, so that nobody can make a process
 * break a rule at the instants of the observations alone. Reproduce one with {@code -Dfuzz.seed} and {@code -Dfuzz.runs}.
 */
class ReadingsModelTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_128);
    private static final int RUNS = Integer.getInteger("fuzz.runs", 3_000);
    private static final int USED = 1_542;

    /** What one reading shows of an environment; its capacity in MiB is null for none. */
    private record Shown(
            long uid, String user, @Nullable Integer capacity, List<Integer> pids, List<Integer> devices) {}

    /** The environments in both readings, in which an absent one is null, and which readings fail. */
    private record World(List<@Nullable Shown> a, List<@Nullable Shown> b, Set<Integer> unreadable) {
        Stream<Shown> all(List<@Nullable Shown> environment) {
            return environment.stream().flatMap(Stream::ofNullable);
        }

        boolean holds(List<@Nullable Shown> environment, int device) {
            return all(environment).anyMatch(shown -> shown.devices.contains(device));
        }

        boolean lists(List<@Nullable Shown> environment, int pid) {
            return all(environment).anyMatch(shown -> shown.pids.contains(pid));
        }

        boolean isOfOne(List<@Nullable Shown> environment) {
            return all(environment)
                            .map(shown -> shown.uid + shown.user)
                            .distinct()
                            .count()
                    == 1;
        }

        boolean isAboveCapacity(List<@Nullable Shown> environment) {
            return all(environment).allMatch(shown -> shown.capacity != null && shown.capacity < USED);
        }
    }

    @Test
    void whatAUserHasInOneReadingCounts() {
        var violations = new HashSet<String>();
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            var world = world(new Random(seed));
            try {
                verify(world, violations);
            } catch (AssertionError broken) {
                throw new AssertionError(
                        "see it alone with -Dfuzz.seed=%d -Dfuzz.runs=1: %s".formatted(seed, world), broken);
            }
        }
        assertThat(violations)
                .contains(
                        "non-env-processes",
                        "inactive-env-processes",
                        "env-devices",
                        "env-memory",
                        "env-owner",
                        "max-devices-per-user");
    }

    private static void verify(World world, Set<String> violations) {
        var machine = new FactsMachine()
                .follow("813 uid 1004 outside; apps 0:812:%d 1:813:100; gpus 0:%d 1:100".formatted(USED, USED));
        read(machine, world, 0);
        machine.follow("earlier");
        read(machine, world, 1);
        var snapshot = machine.see(true);
        var plan = Plans.enforcingPolicy(
                        new Limits(0, Map.of()),
                        KnownRules.NON_ENV_PROCESSES,
                        KnownRules.INACTIVE_ENV_PROCESSES,
                        KnownRules.ENV_DEVICES,
                        KnownRules.MAX_DEVICES_PER_USER,
                        KnownRules.ENV_MEMORY,
                        KnownRules.ENV_OWNER)
                .check(new Fleet(List.of(snapshot), false), Set.of());
        plan.violations().forEach(violation -> violations.add(violation.rule().name()));
        if (!world.unreadable.isEmpty()) {
            assertThat(snapshot.has(SnapshotPart.ENVIRONMENTS)).isFalse();
            assertThat(plan.actions()).isEmpty();
            return;
        }
        var isActive = world.lists(world.a, 812);
        assertThat(breaks(plan, KnownRules.INACTIVE_ENV_PROCESSES, 812)).isEqualTo(!isActive);
        assertThat(breaks(plan, KnownRules.ENV_DEVICES, 812)).isEqualTo(isActive && !world.holds(world.a, 0));
        assertThat(breaks(plan, KnownRules.ENV_MEMORY, 812))
                .isEqualTo(isActive && world.holds(world.a, 0) && world.isAboveCapacity(world.a));
        var isExcused = world.lists(world.b, 813)
                && world.holds(world.b, 1)
                && world.isOfOne(world.b)
                && world.all(world.b).allMatch(shown -> shown.uid == 1004);
        assertThat(breaks(plan, KnownRules.NON_ENV_PROCESSES, 813)).isEqualTo(!isExcused);
        for (var environment : snapshot.environments()) {
            var shown = environment.eid().equals("a") ? world.a : world.b;
            if (!world.isOfOne(shown)) {
                assertThat(environment.ownership().isDisputed()).isTrue();
                assertThat(plan.actions())
                        .noneMatch(planned -> isAgainst(environment, planned.action(), planned.causes()));
            }
        }
    }

    /** Whether an action takes a device from a disputed environment, or ends a process for its owner. */
    private static boolean isAgainst(Environment environment, Action action, List<Violation> causes) {
        return action.environmentId().equals(environment.eid())
                && causes.stream()
                        .anyMatch(cause -> cause.rule().equals(KnownRules.ENV_OWNER)
                                || cause.rule().equals(KnownRules.MAX_DEVICES_PER_USER));
    }

    private static boolean breaks(Plan plan, RuleDefinition rule, int pid) {
        return plan.violations().stream()
                .anyMatch(violation -> violation.rule().equals(rule)
                        && violation.processes().stream().anyMatch(process -> process.pid() == pid));
    }

    private static World world(Random random) {
        return new World(
                pair(random, 1003, "alice", 812),
                pair(random, 1004, "bob", 813),
                random.nextInt(10) == 0 ? Set.of(random.nextInt(2)) : Set.of());
    }

    /** Most pairs differ in one respect. */
    private static List<@Nullable Shown> pair(Random random, long uid, String user, int pid) {
        var first = shown(random, uid, user, pid);
        return Arrays.asList(first, random.nextInt(3) == 0 ? first : shown(random, uid, user, pid));
    }

    private static @Nullable Shown shown(Random random, long uid, String user, int pid) {
        if (random.nextInt(5) == 0) {
            return null;
        }
        var isOther = random.nextInt(5) == 0;
        return new Shown(
                isOther ? 2007 - uid : uid,
                isOther ? (user.equals("bob") ? "alice" : "bob") : user,
                random.nextInt(3) == 0 ? null : random.nextBoolean() ? 100 : 4_000,
                random.nextInt(3) == 0 ? List.of() : List.of(pid),
                random.nextInt(3) == 0 ? List.of() : List.of(pid - 812));
    }

    private static void read(FactsMachine machine, World world, int number) {
        var files = new StateFiles(Path.of("unused")).device(0).device(1);
        for (var eid : List.of("a", "b")) {
            var shown = (eid.equals("a") ? world.a : world.b).get(number);
            if (shown != null) {
                var capacity = shown.capacity == null ? null : shown.capacity + "mi";
                files.env(eid, shown.uid, shown.user, capacity, shown.pids.toArray(Integer[]::new));
                shown.devices.forEach(device -> files.device(device, eid));
            }
        }
        machine.follow("write envs " + (world.unreadable.contains(number) ? "{" : files.envsJson()));
        machine.follow("write devices " + files.devicesJson());
    }
}
