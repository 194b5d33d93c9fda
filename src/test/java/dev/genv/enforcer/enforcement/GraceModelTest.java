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
import dev.genv.enforcer.policy.Action.Signal;
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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * SIGTERM after the grace period, and SIGKILL when the job was then observed for {@code KILL_AFTER} to break rules.
 * Random schedules of honest and of hostile users, of cycles that are missed or incomplete, and of restarts without a journal and reboots.
 * Reproduce one with {@code -Dfuzz.seed} and {@code -Dfuzz.runs}. Restarts with a journal are suspensions ({@code RestartTest}).
 */
class GraceModelTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_123);
    private static final int RUNS = Integer.getInteger("fuzz.runs", 200);
    private static final int MANY_RUNS = 2_000;
    private static final int CYCLES = 60;
    private static final int INTERVAL = 10;
    private static final int GRACE = 30;
    private static final int KILL_AFTER = 30;
    private static final long ALICE = 1003;
    private static final long MAL = 1004;
    private static final long FIRST_START = 991_232;
    private static final Logger LOG = Logger.getLogger("dev.genv.enforcer");

    /** The log of all schedules is hundreds of megabytes. */
    @BeforeAll
    static void silence() {
        LOG.setLevel(Level.OFF);
    }

    @AfterAll
    static void restore() {
        LOG.setLevel(null);
    }

    @Test
    void nobodyLosesAJobByAShortEditAndNoViolatorStays() {
        runSchedules(RUNS);
    }

    @Test
    @Tag("long")
    void nobodyLosesAJobInManySchedules() {
        runSchedules(MANY_RUNS);
    }

    private static void runSchedules(int runs) {
        var signalled = 0;
        for (var seed = SEED; seed < SEED + runs; seed++) {
            try {
                signalled += new World(seed).run();
            } catch (AssertionError broken) {
                throw new AssertionError("see it alone with -Dfuzz.seed=%d -Dfuzz.runs=1".formatted(seed), broken);
            }
        }
        assertThat(signalled).as("terminations").isPositive();
    }

    /** A process of a user. */
    private static final class Job {
        private final int pid;
        private final long uid;
        private final long start;
        private final int device;
        private String eid;
        /** For how long observations showed it and edited entries of its owner, in seconds. */
        private int edited;
        /** For how long complete observations showed that it breaks a rule for which nothing protects it, in seconds. */
        private int breaking;

        private int terms;
        /** For how long it was edited and broke a rule when it got the last SIGTERM. */
        private int editedAtTerm;

        private int breakingAtTerm;

        private Job(int pid, long uid, long start, int device, String eid) {
            this.pid = pid;
            this.uid = uid;
            this.start = start;
            this.device = device;
            this.eid = eid;
        }
    }

    /** One machine with the honest user alice and the hostile user mal. Alice holds device 0, mal device 1, and device 2 is free. */
    private static final class World {
        private final Random random;
        private final FakeTime time = new FakeTime();
        private final FakeHost node = new FakeHost(HostBuilder.host().devices(3));
        private final List<Job> jobs = new ArrayList<>();
        private Enforcer enforcer;
        private int second;
        private int nextPid = 100;
        private int signalled;
        /** The honest jobs that were signalled although alice's entries were not edited for the grace period. */
        private final List<String> wrong = new ArrayList<>();
        /** Whether the last observation was complete, and whether alice's entries were edited in it. */
        private boolean wasComplete;

        private boolean wasEdited;
        private boolean wasReduced;
        /** For how long observations showed edited entries of alice, in seconds. */
        private int edited;

        /** The same for her capacity, whose time all her jobs share. */
        private int reduced;

        private int lastSecond;
        /** What mal has done to alice's entries; 0 for nothing. */
        private int edit;

        /** Whether a process of an environment that is not active breaks a rule, and whether an older entry shields a process. */
        private final boolean enforcesInactive;

        private World(long seed) {
            random = new Random(seed);
            enforcesInactive = oneIn(2);
            node.answerWith(this::execute);
            start();
        }

        private int run() {
            cycle(true, INTERVAL); // the service observes an empty machine
            for (var cycle = 0; cycle < CYCLES; cycle++) {
                jobs();
                edits();
                if (oneIn(60)) {
                    start();
                    edited = 0;
                    reduced = 0;
                    jobs.forEach(job -> {
                        job.edited = 0; // nothing is remembered
                        job.breaking = 0;
                    });
                }
                if (oneIn(90)) {
                    jobs.clear();
                    node.setMachine("boot " + random.nextInt());
                }
                cycle(!oneIn(4), oneIn(10) ? 10 * INTERVAL : INTERVAL);
            }
            return signalled;
        }

        private void jobs() {
            if (oneIn(3) && jobs.size() < 6) {
                var isHonest = oneIn(2);
                var eid = isHonest ? "a" : oneIn(3) ? "r" + random.nextInt() : "m";
                // mal's jobs use a device that is not attached to their environment
                jobs.add(new Job(
                        nextPid++, isHonest ? ALICE : MAL, ticks() - random.nextInt(900), isHonest ? 0 : 2, eid));
            }
            jobs.removeIf(job -> oneIn(job.uid == ALICE ? 20 : 60));
            for (var job : jobs) {
                if (job.uid == MAL && job.eid.startsWith("r") && oneIn(2)) {
                    job.eid = "r" + random.nextInt(); // it rewrites its own variables
                }
            }
        }

        private void edits() {
            if (oneIn(4)) {
                edit = oneIn(2) ? 0 : 1 + random.nextInt(4);
            }
        }

        private void cycle(boolean isComplete, int seconds) {
            second += seconds;
            time.pass(Duration.ofSeconds(seconds));
            node.setTicks(ticks()).setSnapshot(snapshot(isComplete));
            assertThat(enforcer.runCycle()).isPresent();
            assertThat(wrong).isEmpty();
            for (var job : jobs) {
                if (isComplete && job.uid == MAL) {
                    var most = GRACE + 3 * INTERVAL + (job.terms == 0 ? 0 : KILL_AFTER);
                    assertThat(job.breaking).as("%d breaks a rule", job.pid).isLessThanOrEqualTo(most);
                }
            }
            // What an observation shows counts until the next one, at most two intervals.
            wasComplete = isComplete;
        }

        private HostBuilder snapshot(boolean isComplete) {
            var since = Math.min(second - lastSecond, 2 * INTERVAL);
            lastSecond = second;
            edited += wasComplete && wasEdited ? since : 0;
            reduced += wasComplete && wasReduced ? since : 0;
            for (var job : jobs) {
                if (wasComplete) {
                    job.edited += wasEdited ? since : 0;
                    job.breaking += job.uid == MAL && (enforcesInactive || job.eid.equals("m")) ? since : 0;
                }
            }
            wasEdited = edit != 0;
            wasReduced = edit == 2;
            var alice = env("a").user("alice").uid(edit == 3 ? MAL : ALICE).livePidsOf(ALICE);
            var host = HostBuilder.host().devices(3);
            var environments = new ArrayList<>(
                    List.of(env("m").user("mal").uid(MAL).livePidsOf(MAL).attached(1)));
            if (edit != 1) {
                alice = edit == 2 ? alice.capacity("1mi") : alice;
                environments.add(edit == 4 ? alice : alice.attached(0));
            }
            host = host.with(environments.toArray(EnvBuilder[]::new));
            for (var job : jobs) {
                host = host.with(process(job.pid)
                        .uid(job.uid)
                        .startedLaterBy(job.start - FIRST_START)
                        .inEnvironment(job.eid)
                        .uses(job.device));
            }
            return isComplete ? host : host.missing(SnapshotPart.ENVIRONMENTS);
        }

        private Result execute(Action action) {
            if (action instanceof Action.Terminate(var _, var process, var signal)) {
                var job = jobs.stream()
                        .filter(each -> each.pid == process.pid())
                        .findFirst()
                        .orElseThrow();
                var isYoung = ticks() - job.start < 100 * GRACE;
                if (signal == Signal.TERM
                        && job.uid == ALICE
                        && job.edited < GRACE
                        && !(isYoung && edited >= GRACE)
                        && reduced < GRACE) {
                    wrong.add(
                            "alice's job %d of %d s was signalled after %d s, of all jobs %d s, with a reduced capacity %d s"
                                    .formatted(job.pid, (ticks() - job.start) / 100, job.edited, edited, reduced));
                }
                var since = job.uid == ALICE ? job.edited - job.editedAtTerm : job.breaking - job.breakingAtTerm;
                if (signal == Signal.KILL && (job.terms == 0 || since < KILL_AFTER)) {
                    wrong.add("job %d got SIGKILL after %d SIGTERM and %d s".formatted(job.pid, job.terms, since));
                }
                if (signal == Signal.TERM) {
                    job.editedAtTerm = job.edited;
                    job.breakingAtTerm = job.breaking;
                }
                job.terms++;
                signalled++;
                if (signal == Signal.KILL || oneIn(2)) {
                    jobs.remove(job);
                    node.setExited(process.id());
                }
                return Result.of(Outcome.SIGNALLED);
            }
            return Result.of(Outcome.DETACHED);
        }

        private void start() {
            var modes = Arrays.stream(KnownRules.all())
                    .filter(rule -> enforcesInactive || !rule.equals(KnownRules.INACTIVE_ENV_PROCESSES))
                    .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
            var config = EnforcerConfigBuilder.enforcerConfig(node)
                    .rules(modes, new Limits(null, Map.of()))
                    .interval(Duration.ofSeconds(INTERVAL))
                    .safetyLimits(new SafetyLimits(Duration.ofSeconds(GRACE), Duration.ofSeconds(KILL_AFTER), 0))
                    .build();
            enforcer = EnforcerFactory.create(
                    config, NoStore.records(new ViolationRegistry(100)), time.ticker(), List.of());
        }

        private long ticks() {
            return 1_000_000 + 100L * second;
        }

        private boolean oneIn(int number) {
            return random.nextInt(number) == 0;
        }
    }
}
