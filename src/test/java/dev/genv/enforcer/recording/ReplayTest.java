package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_OWNER;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.History;
import dev.genv.enforcer.enforcement.History.Delay;
import dev.genv.enforcer.enforcement.History.Enforcement;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Replay.ReplayedHost;
import dev.genv.enforcer.recording.ReplayedUser.ReplayedAction;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ReplayTest {
    private static final Duration GRACE = Duration.ofSeconds(30);
    private static final Snapshot IDLE = host().devices(1).snapshot();

    private final RecordedPast past = new RecordedPast();

    @AfterEach
    void close() {
        past.close();
    }

    @Test
    void processIsTerminatedOnceAfterTheGracePeriod() {
        past.cycles(100, stray(process(7).uid(1001)));

        var replay = replay(enforcing(NON_ENV_PROCESSES));

        assertThat(replay.from()).isEqualTo(RecordedPast.BEGIN);
        assertThat(replay.to()).isEqualTo(past.now());
        assertThat(replay.users()).singleElement().satisfies(user -> {
            assertThat(user.user()).isEqualTo("1001");
            assertThat(user.terminations()).isOne();
            assertThat(user.actions())
                    .containsExactly(new ReplayedAction(
                            "terminate",
                            at(3),
                            "here",
                            List.of("non-env-processes"),
                            "[here] Process 7 is not running in a GPU environment",
                            7,
                            process(7).build().id().startTime(),
                            1001L,
                            "python",
                            null,
                            List.of(0),
                            null));
        });
    }

    @Test
    void timeWithoutTheServiceCountsNothing() {
        past.cycles(2, stray(process(7))).restarts().waits(Duration.ofMinutes(10));
        past.cycle(stray(process(7))).cycle(IDLE);
        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users()).isEmpty();

        past.cycles(3, stray(process(7)));
        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users()).hasSize(1);
    }

    @Test
    void withoutAGracePeriodActionsHappenAtOnce() {
        past.cycle(stray(process(7)));

        assertThat(actions(replay(enforcing(NON_ENV_PROCESSES), Duration.ZERO, Instant.EPOCH)))
                .containsExactly("terminate 7 at 0");
    }

    @Test
    void policyAppliesFromTheBeginOfThePeriodOn() {
        past.cycles(100, stray(process(7)));

        var replay = replay(enforcing(NON_ENV_PROCESSES), GRACE, at(50));

        assertThat(replay.from()).isEqualTo(at(50));
        assertThat(actions(replay)).containsExactly("terminate 7 at 530");
    }

    @Test
    void immuneProcessesAndExemptEnvironmentsAreSpared() {
        past.cycles(5, host().devices(1).with("process 1 on 0=1mi immune").snapshot());
        past.cycles(5, host().devices(3).with("env 1 on 0,1,2 exempt").snapshot());

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users()).isEmpty();
        assertThat(replay(quota(1)).users()).isEmpty();
    }

    @Test
    void processIsOfTheUserOfItsEnvironmentAndAStrangerIsNot() {
        past.cycles(
                5,
                host().devices(2)
                        .with(
                                "env 1 of alice uid 1005 live 1005 on 0",
                                "process 1 uid 1005 in 1 on 1=1mi",
                                "process 9 later 9000 uid 6666 in 1 on 0=1mi")
                        .snapshot());

        assertThat(replay(enforcing(ENV_DEVICES)).users())
                .extracting(ReplayedUser::user)
                .containsExactly("alice");
        assertThat(replay(enforcing(ENV_OWNER)).users())
                .extracting(ReplayedUser::user)
                .containsExactly("6666");
    }

    @Test
    void newestDeviceIsDetachedOnceAndItsProcessesAreTerminated() {
        var three = threeDevices();
        past.cycle(idle("1", "2").snapshot())
                .cycles(10, three.snapshot())
                .cycles(10, three.with("process 9 in 1 on 0=900mi").snapshot());

        assertThat(actions(replay(quota(2)))).containsExactlyInAnyOrder("terminate 13 at 40", "detach 3 from 2 at 40");
    }

    @Test
    void laterProcessWithTheSamePidIsAnotherOne() {
        past.cycles(5, stray(process(7))).cycles(5, stray(process(7).startedLaterBy(100)));

        assertThat(actions(replay(enforcing(NON_ENV_PROCESSES)))).hasSize(2);
    }

    @Test
    void memoryIsFreedByWhatWasTerminated() {
        var full = host().devices(1)
                .with("env 1 capacity 1000mi on 0", "process 1 in 1 on 0=900mi", "process 2 in 1 on 0=300mi");
        past.cycles(10, full.snapshot())
                .cycles(10, full.with("process 3 in 1 on 0=50mi").snapshot());

        assertThat(actions(replay(enforcing(ENV_MEMORY)))).containsExactly("terminate 2 at 30");
    }

    @Test
    void attachmentThatIsMadeAgainCountsAgain() {
        past.cycles(10, threeDevices().snapshot())
                .cycles(10, host().devices(3).snapshot())
                .cycles(10, threeDevices().snapshot());

        assertThat(replay(quota(2)).users().getFirst().detachments()).isEqualTo(2);
    }

    @Test
    void hostThatDoesNotAnswerForgetsNothing() {
        past.cycles(10, threeDevices().snapshot())
                .cycle(Snapshot.unseen("here", new Problem(ProblemCode.UNREACHABLE, "no answer")))
                .cycles(10, threeDevices().snapshot());

        assertThat(replay(quota(2)).users().getFirst().detachments()).isOne();
    }

    @Test
    void picturesBeforeThePeriodShowWhichAttachmentIsNew() {
        past.cycle(idle("1").snapshot())
                .cycles(10, idle("1").with("env 2 on 1 at OLD").snapshot());

        assertThat(actions(replay(quota(1), GRACE, at(5)))).containsExactly("detach 2 from 1 at 80");
    }

    @Test
    void manyActionsOfAUserAreCountedAndTheFirstOnesListed() {
        var all =
                IntStream.range(0, 300).mapToObj(number -> process(10 + number).uses(0, "1mi"));
        past.cycles(
                4, host().devices(1).with(all.toArray(GpuProcessBuilder[]::new)).snapshot());

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users()).singleElement().satisfies(user -> {
            assertThat(user.terminations()).isEqualTo(300);
            assertThat(user.actions()).hasSize(ReplayedUser.Counter.MAX_LISTED);
            assertThat(user.omitted()).isEqualTo(200);
        });
    }

    @Test
    void usersAboveTheLargestNumberAreCountedTogether() {
        var all = IntStream.range(0, Replay.MAX_USERS + 5)
                .mapToObj(number -> process(10 + number).uid(1000 + number).uses(0, "1mi"));
        past.cycles(
                4, host().devices(1).with(all.toArray(GpuProcessBuilder[]::new)).snapshot());

        var users = replay(enforcing(NON_ENV_PROCESSES)).users();

        assertThat(users).hasSize(Replay.MAX_USERS + 1);
        assertThat(users.getFirst().user()).isNull();
        assertThat(users.getFirst().terminations()).isEqualTo(5);
        assertThat(users.stream().mapToInt(user -> user.actions().size()).sum()).isLessThanOrEqualTo(Replay.MAX_LISTED);
    }

    private Replay replay(Policy policy) {
        return replay(policy, GRACE, Instant.EPOCH);
    }

    private Replay replay(Policy policy, Duration grace, Instant since) {
        var replay = new Replay(new Replay.Config(policy, grace, RecordedPast.INTERVAL, since, true));
        past.read().forEach(replay::add);
        replay.finish(past.now(), past.recorder.mark());
        return replay;
    }

    private static List<String> actions(Replay replay) {
        return replay.users().stream()
                .flatMap(user -> user.actions().stream())
                .map(action -> "%s %s at %d"
                        .formatted(
                                action.type(),
                                action.pid() == null
                                        ? action.environment() + " from " + action.device()
                                        : Objects.toString(action.pid()),
                                Duration.between(RecordedPast.BEGIN, action.at())
                                        .toSeconds()))
                .toList();
    }

    private static Policy enforcing(RuleDefinition rule) {
        return KnownRules.policy(Map.of(rule, RuleMode.ENFORCE), Limits.NONE);
    }

    private static Policy quota(int limit) {
        return KnownRules.policy(Map.of(MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(limit, Map.of()));
    }

    private static Snapshot stray(GpuProcessBuilder process) {
        return host().devices(1).with(process.uses(0, "100mi")).snapshot();
    }

    private static HostBuilder idle(String... environments) {
        var node = host().devices(3);
        for (var eid : environments) {
            node.with(env(eid).attachedAt("20/11/2026 09:00:00", Integer.parseInt(eid) - 1));
        }
        return node;
    }

    private static HostBuilder threeDevices() {
        return idle("1", "2", "3")
                .with("process 11 in 1 on 0=1mi", "process 12 in 2 on 1=1mi", "process 13 later 9000 in 3 on 2=1mi");
    }

    private static Instant at(int cycle) {
        return RecordedPast.BEGIN.plus(RecordedPast.INTERVAL.multipliedBy(cycle));
    }

    // A replay does what a service does that checks every host in every cycle: -Dfuzz.seed and -Dfuzz.pasts.

    private static final long SEED = Long.getLong("fuzz.seed", 20_261_122);
    private static final int PASTS = Integer.getInteger("fuzz.pasts", 20);
    private static final int CYCLES = 30;
    private static final Duration SHORT_GRACE = Duration.ofSeconds(20);

    private final Map<String, ReplayedHost> hosts = new TreeMap<>();
    private Instant now = RecordedPast.BEGIN;

    @Test
    void endsWhatChecksOfAllHostsInEveryCycleEnd() {
        for (var seed = SEED; seed < SEED + PASTS; seed++) {
            hosts.clear();
            replayAsChecked(seed);
        }
    }

    private void replayAsChecked(long seed) {
        var random = new RandomPast(seed);
        var isOfFleet = !random.random().oneIn(2);
        var modes = new HashMap<RuleDefinition, RuleMode>();
        for (var rule : KnownRules.all()) {
            modes.put(
                    rule,
                    rule.isOfFleet() == isOfFleet ? random.random().pick(List.of(RuleMode.values())) : RuleMode.OFF);
        }
        var policy =
                KnownRules.policy(modes, new Limits(random.random().random().nextInt(5), Map.of("raz", 1)));
        var history = history(policy);
        var expected = new ArrayList<String>();
        try (var past = new RecordedPast()) {
            for (var cycle = 0; cycle < CYCLES; cycle++) {
                now = past.now();
                // Every second cycle is like the one before.
                var fleet = cycle % 2 == 0 ? random.next().snapshots() : List.<Snapshot>of();
                if (cycle % 2 == 0) {
                    past.cycle(fleet.toArray(Snapshot[]::new));
                    past.read(now).stream()
                            .filter(each -> each.at().equals(now))
                            .forEach(each -> hosts.computeIfAbsent(each.host(), _ -> new ReplayedHost(history))
                                    .show(each.picture(), mark()));
                } else {
                    past.waits(RecordedPast.INTERVAL);
                }
                check(policy, history, expected);
            }
            var replay = new Replay(new Replay.Config(policy, SHORT_GRACE, RecordedPast.INTERVAL, Instant.EPOCH, true));
            past.read().forEach(replay::add);
            replay.finish(past.now().minusMillis(1), past.recorder.mark() - 1); // the next cycle is not checked
            assertThat(replay.users().stream().flatMap(user -> user.actions().stream()))
                    .extracting(ReplayTest::text)
                    .as("-Dfuzz.seed=" + seed)
                    .containsExactlyInAnyOrderElementsOf(expected);
        }
    }

    private void check(Policy policy, History history, List<String> expected) {
        var snapshots = hosts.values().stream()
                .flatMap(host -> host.observed(mark()).stream())
                .toList();
        var fleet = history.record(new Fleet(snapshots, true, now), _ -> Listings.NONE);
        var plan = policy.check(fleet, Set.of());
        history.record(plan);
        for (var planned : plan.actions()) {
            var acts = planned.causes().stream()
                    .anyMatch(cause -> history.isInForce(cause, planned.action())
                            && history.delay(cause, planned.action())
                                    .flatMap(Delay::left)
                                    .isEmpty());
            var host = hosts.get(planned.action().host());
            if (acts && host != null && host.apply(planned.action())) {
                expected.add(text(ReplayedAction.of(now, planned)));
            }
        }
    }

    private static String text(ReplayedAction action) {
        return action.at()
                + action.host()
                + action.type()
                + action.pid()
                + (action.pid() == null ? action.environment() : "")
                + action.device();
    }

    private History history(Policy policy) {
        return new History(
                new Enforcement(rule -> policy.modeOf(rule) == RuleMode.ENFORCE, true, SHORT_GRACE),
                RecordedPast.INTERVAL,
                ticker());
    }

    private Ticker ticker() {
        return new Ticker(() -> now, () -> Duration.ofMillis(mark()).toNanos());
    }

    private long mark() {
        return Duration.between(RecordedPast.BEGIN, now).toMillis();
    }
}
