package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random schedules of the quota of one device: alice holds one device and changes it, with a job of her own uid, with one of root's, or without
 * one; mal adds and removes entries in her name and runs processes in them; and bob runs jobs of his own uid on two devices and changes their
 * entries. Reproduce one with {@code -Dfuzz.seed} and {@code -Dfuzz.runs}.
 */
@Timeout(600)
class QuotaModelTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_128);
    private static final int RUNS = Integer.getInteger("fuzz.runs", 300);
    private static final int CYCLES = 60;
    private static final int INTERVAL = 10;
    private static final int GRACE = 30;
    /** The first pids of the processes of mal, and of the jobs of alice. */
    private static final int MALS = 10_000;

    private static final int JOBS = 20_000;
    private static final long ROOT = 0;
    private static final long ALICE = 1003;
    private static final long MAL = 1004;
    private static final long BOB = 1005;
    private static final Logger LOG = Logger.getLogger("dev.genv.enforcer");

    @BeforeAll
    static void silence() {
        LOG.setLevel(Level.OFF);
    }

    @AfterAll
    static void restore() {
        LOG.setLevel(null);
    }

    @Test
    void eachAttachmentHasItsOwnGraceAndNobodyKeepsTwoByChangingEntries() {
        var detached = 0;
        var ended = 0;
        var chosen = 0;
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            try {
                var world = new World(seed);
                world.run();
                detached += world.detached;
                ended += world.ended;
                chosen += world.chosen;
            } catch (AssertionError broken) {
                throw new AssertionError("see it alone with -Dfuzz.seed=%d -Dfuzz.runs=1".formatted(seed), broken);
            }
        }
        assertThat(detached).as("detachments of alice").isPositive();
        assertThat(ended).as("jobs and attachments that bob lost").isPositive();
        assertThat(chosen).as("entries in the name of alice that were detached").isPositive();
    }

    /** An attachment in the name of alice. */
    private record Holding(int device, String eid) {}

    private static final class World {
        private final Random random;
        private final FakeTime time = new FakeTime();
        private final FakeHost node = new FakeHost(HostBuilder.host().devices(6));
        private final Enforcer enforcer;
        /** The device that alice holds, from 0 to 2. */
        private int own;
        /** The one that the last complete observation showed. */
        private int seen;
        /** The entries that mal wrote in her name, by their devices. */
        private final Map<Integer, String> forged = new TreeMap<>();
        /** Whose job runs on it, in the environment of alice; null if none does. */
        private @Nullable Long job;
        /** The devices on which mal runs a process in the entry there. */
        private final Set<Integer> used = new TreeSet<>();
        /** The second of the observation that first showed each of the present attachments in the name of alice. */
        private final Map<Holding, Integer> since = new HashMap<>();
        /** What the last observation showed. */
        private Set<Holding> shown = Set.of();

        private @Nullable Long shownJob;
        /** For how long observations showed another device in the name of alice beside this attachment, in seconds. */
        private int surplus;

        private boolean wasSurplus;
        /** For how long complete observations showed both jobs of bob, in seconds. */
        private int breaking;

        private boolean wasBreaking;
        private int bobsEntries;
        private boolean bobRuns = true;
        private int bobsRuns = 1;
        private int second;
        private int detached;
        private int ended;
        private int chosen;
        private int jobs;
        private final List<String> wrong = new ArrayList<>();

        World(long seed) {
            random = new Random(seed);
            node.answerWith(this::execute);
            enforcer = EnforcerFactory.create(
                    EnforcerConfigBuilder.enforcerConfig(node)
                            .rules(Map.of(KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(1, Map.of()))
                            .interval(Duration.ofSeconds(INTERVAL))
                            .safetyLimits(new SafetyLimits(Duration.ofSeconds(GRACE), Duration.ofSeconds(GRACE), 0))
                            .build(),
                    NoStore.records(new ViolationRegistry(100)),
                    time.ticker(),
                    List.of());
        }

        void run() {
            cycle(true);
            for (var cycle = 0; cycle < CYCLES; cycle++) {
                change();
                cycle(!oneIn(5));
                assertThat(wrong).isEmpty();
                assertThat(breaking).isLessThanOrEqualTo(GRACE + 2 * INTERVAL);
            }
        }

        private void change() {
            for (var device = 0; device < 3; device++) {
                if (oneIn(4)) {
                    forged.remove(device);
                } else if (oneIn(3)) {
                    forged.put(device, "f" + random.nextInt(3));
                }
            }
            own = oneIn(5) ? random.nextInt(3) : own;
            if (oneIn(6)) {
                job = oneIn(3) ? null : oneIn(2) ? Long.valueOf(ALICE) : Long.valueOf(ROOT);
            }
            used.removeIf(device -> oneIn(4) || !forged.containsKey(device));
            forged.keySet().stream().filter(_ -> oneIn(5)).forEach(used::add);
            bobsEntries += oneIn(2) ? 1 : 0;
            if (!bobRuns && oneIn(10)) {
                bobRuns = true;
                bobsRuns++;
            }
        }

        private void cycle(boolean isComplete) {
            time.pass(Duration.ofSeconds(INTERVAL));
            second += INTERVAL;
            surplus += wasSurplus ? INTERVAL : 0;
            breaking = bobRuns ? breaking + (wasBreaking ? INTERVAL : 0) : 0;
            var devices = new ArrayList<>(forged.keySet());
            devices.remove(Integer.valueOf(own));
            if (isComplete && own != seen) { // an observation shows the new attachment
                seen = own;
                surplus = 0;
            }
            wasSurplus = isComplete && !devices.isEmpty();
            wasBreaking = isComplete && bobRuns;
            if (isComplete) {
                shown = new HashSet<>(Set.of(new Holding(own, "a")));
                forged.forEach((device, eid) -> shown.add(new Holding(device, eid + "-" + device)));
                since.keySet().retainAll(shown);
                shown.forEach(each -> since.putIfAbsent(each, second));
                shownJob = job;
            }
            node.setTicks(1_000_000 + 100L * second).setSnapshot(snapshot(isComplete));
            assertThat(enforcer.runCycle()).isPresent();
        }

        /** Whether the device of alice must be lost after those of mal: her own job uses it, or it was observed first. */
        private boolean isKept() {
            var its = since.get(new Holding(own, "a"));
            var others = shown.stream().filter(each -> each.device != own).toList();
            var isShared = shown.stream().filter(each -> each.device == own).count() > 1;
            return !others.isEmpty()
                    && its != null
                    && (Long.valueOf(ALICE).equals(shownJob)
                            || (!isShared && others.stream().allMatch(other -> its < since.getOrDefault(other, 0))));
        }

        private HostBuilder snapshot(boolean isComplete) {
            var host = HostBuilder.host()
                    .devices(6)
                    .with(env("a").user("alice").uid(ALICE).livePidsOf(ALICE).attached(own));
            forged.forEach((device, eid) -> host.with(env(eid + "-" + device)
                    .user("alice")
                    .uid(ALICE)
                    .livePidsOf(ALICE)
                    .attached(device)));
            if (job != null) {
                host.with(process(JOBS + jobs).uid(job).inEnvironment("a").uses(own));
            }
            used.forEach(device -> host.with(process(MALS + device)
                    .uid(MAL)
                    .inEnvironment(forged.get(device) + "-" + device)
                    .uses(device)));
            if (bobRuns) {
                for (var device = 3; device < 5; device++) {
                    var eid = "b" + device + "-" + (device == 4 ? bobsEntries : 0);
                    host.with(bobs(eid, device))
                            .with(process(10 * bobsRuns + device)
                                    .uid(BOB)
                                    .inEnvironment(eid)
                                    .uses(device));
                }
            }
            return isComplete ? host : host.missing(SnapshotPart.ATTACHMENTS);
        }

        private static EnvBuilder bobs(String eid, int device) {
            return env(eid).user("bob").uid(BOB).livePidsOf(BOB).attached(device);
        }

        private Result execute(Action action) {
            switch (action) {
                case Action.Detach(var _, var environment, var device, var _) -> {
                    if (environment.eid().equals("a")) {
                        detached++;
                        lose("device " + device);
                    } else if (!environment.eid().startsWith("b")) {
                        chosen++;
                    }
                    if (environment.eid().startsWith("b")) {
                        breaking = 0;
                        ended++;
                    }
                    forged.values().remove(environment.eid().replaceAll("-.*", ""));
                    return Result.of(Outcome.DETACHED);
                }
                case Action.Terminate terminate -> {
                    var pid = terminate.process().pid();
                    if (pid >= JOBS) {
                        lose("the job");
                        job = null;
                        jobs++;
                    } else if (pid >= MALS) {
                        used.remove(pid - MALS);
                        return Result.of(Outcome.ALREADY_GONE); // mal starts a process with the same pid
                    } else {
                        ended++;
                        bobRuns = false;
                        breaking = 0;
                    }
                    node.setExited(terminate.process().id());
                    return Result.of(Outcome.SIGNALLED);
                }
            }
        }

        private void lose(String what) {
            if (surplus < GRACE || isKept()) {
                wrong.add("alice lost %s after %d s, on device %d since %s, with a job of %s"
                        .formatted(what, surplus, own, since, shownJob));
            }
        }

        private boolean oneIn(int number) {
            return random.nextInt(number) == 0;
        }
    }
}
