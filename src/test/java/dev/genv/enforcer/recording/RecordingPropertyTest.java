package dev.genv.enforcer.recording;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.RandomFleets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** What is read equals what was observed, for random pasts: {@code -Dfuzz.seed} and {@code -Dfuzz.pasts}. */
class RecordingPropertyTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_122);
    private static final int PASTS = Integer.getInteger("fuzz.pasts", 25);
    private static final int CYCLES = 30;

    @Test
    void playsBackWhatWasObserved() {
        forEachCycle((observed, played) -> {
            for (var snapshot : observed.snapshots()) {
                var back = Objects.requireNonNull(played.get(snapshot.host()));
                assertThat(withoutMemory(back)).isEqualTo(withoutMemory(snapshot));
                assertMemoryIsClose(snapshot, back);
            }
            assertThat(played.keySet())
                    .containsExactlyElementsOf(
                            observed.snapshots().stream().map(Snapshot::host).toList());
        });
    }

    /** Not even the numbers in the messages differ, because the memory of those who exceed their capacity is exact. */
    @Test
    void everyPolicyDecidesAboutThePlayedFleetAsAboutTheObservedOne() {
        var random = new RandomFleets(SEED);
        forEachCycle((observed, played) -> {
            var policy = policy(random);
            var fleet = new Fleet(List.copyOf(played.values()), observed.remote());
            assertThat(summary(policy.check(fleet, Set.of()))).isEqualTo(summary(policy.check(observed, Set.of())));
        });
    }

    private static void forEachCycle(BiConsumer<Fleet, Map<String, Snapshot>> property) {
        for (var seed = SEED; seed < SEED + PASTS; seed++) {
            try {
                var past = new RandomPast(seed);
                var playback = new Playback();
                for (var cycle = 0; cycle < CYCLES; cycle++) {
                    if (past.random().oneIn(10)) {
                        playback.recorder.beginSegment();
                    }
                    var fleet = past.next();
                    playback.cycle(fleet.snapshots());
                    property.accept(fleet, new TreeMap<>(playback.snapshots()));
                }
            } catch (AssertionError | RuntimeException broken) {
                throw new AssertionError("see it alone with -Dfuzz.seed=" + seed + " -Dfuzz.pasts=1", broken);
            }
        }
    }

    private static Snapshot withoutMemory(Snapshot snapshot) {
        var processes = snapshot.processes().stream()
                .map(process -> process.withUsage(process.usage().stream()
                        .map(use -> new DeviceUsage(use.device(), null))
                        .toList()))
                .toList();
        return new Snapshot(
                snapshot.host(),
                processes,
                snapshot.unlisted(),
                snapshot.environments(),
                snapshot.devices(),
                snapshot.listedDevices(),
                snapshot.uidsOfPids(),
                snapshot.subordinateUids(),
                snapshot.missing(),
                List.of());
    }

    private static void assertMemoryIsClose(Snapshot observed, Snapshot played) {
        for (var index = 0; index < observed.processes().size(); index++) {
            for (var device : observed.processes().get(index).devices()) {
                assertClose(observed.processes().get(index), played.processes().get(index), device);
            }
        }
    }

    private static void assertClose(GpuProcess observed, GpuProcess played, int device) {
        var now = observed.memoryOn(device);
        var back = played.memoryOn(device);
        if (now == null || back == null) {
            assertThat(back).isEqualTo(now);
        } else {
            var most = Math.max(64L << 20, back.bytes() / 10);
            assertThat(Math.abs(now.bytes() - back.bytes())).isLessThanOrEqualTo(most);
        }
    }

    private static Policy policy(RandomFleets random) {
        var modes = new HashMap<RuleDefinition, RuleMode>();
        for (var rule : KnownRules.all()) {
            modes.put(rule, random.pick(List.of(RuleMode.values())));
        }
        return KnownRules.policy(modes, new Limits(random.random().nextInt(5), Map.of("raz", 1)));
    }

    private record Summary(List<String> violations, List<String> actions) {}

    private static Summary summary(Plan plan) {
        return new Summary(
                plan.violations().stream()
                        .map(violation ->
                                violation.key() + violation.message() + violation.user() + violation.devices())
                        .toList(),
                plan.actions().stream()
                        .map(planned -> name(planned.action()) + planned.rules() + planned.enforced())
                        .sorted(Comparator.naturalOrder())
                        .toList());
    }

    private static String name(Action action) {
        return switch (action) {
            case Action.Terminate terminate -> terminate.target().toString();
            case Action.Detach detach -> detach.toString();
        };
    }
}
