package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Gate;
import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.History;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Replay.ReplayedHost;
import dev.genv.enforcer.recording.ReplayedUser.ReplayedAction;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplayTest {
    private static final Duration GRACE = Duration.ofSeconds(30);

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

    /**
     * The rule with its limit, the cycle from which on it is replayed, the grace period in seconds, numbers of cycles with what is on the host
     * in them, and what is done for whom. THREE are environments on a device each, of which the last process is the newest.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # without a grace period actions happen at once
        non-env-processes | 0 | 0  | 1 process 7 on 0=1mi    | 1000: terminate 7 at 0
        # pictures before the period count for nothing but the order of attachments
        non-env-processes | 50 | 30 | 100 process 7 on 0=1mi  | 1000: terminate 7 at 530
        max-devices-per-user=1 | 5 | 30 | 1 env 1 on 0; 10 env 1 on 0 & env 2 on 1 at OLD | raz: detach 2 from 1 at 80
        # time without the service counts nothing
        non-env-processes | 0 | 30 | 2 process 7 on 0=1mi; restart; 1 process 7 on 0=1mi; 1    |
        non-env-processes | 0 | 30 | 2 process 7 on 0=1mi; restart; 1 process 7 on 0=1mi; 1; 3 process 7 on 0=1mi | 1000: terminate 7 at 650
        # immune processes and exempt environments are spared
        non-env-processes | 0 | 30 | 5 process 1 on 0=1mi immune |
        max-devices-per-user=1 | 0 | 30 | 5 env 1 on 0,1,2 exempt |
        # a process is of the user of its environment, and a stranger is not
        env-devices | 0 | 30 | 5 STRANGER | alice: terminate 1 at 30
        env-owner   | 0 | 30 | 5 STRANGER | 6666: terminate 9 at 30
        # a later process with the same pid is another one
        non-env-processes | 0 | 30 | 5 process 7 on 0=1mi; 5 process 7 later 100 on 0=1mi | 1000: terminate 7 at 30, 1000: terminate 7 at 80
        # what was terminated frees its memory
        env-memory | 0 | 30 | 10 FULL; 10 FULL & process 3 in 1 on 0=50mi | raz: terminate 2 at 30
        # the newest attachment is removed, once
        max-devices-per-user=2 | 0 | 30 | 1 env 1 on 0 & env 2 on 1; 10 THREE; 10 THREE & process 9 in 1 on 0=900mi | raz: detach 3 from 2 at 40, raz: terminate 13 at 40
        max-devices-per-user=2 | 0 | 30 | 10 THREE; 1 unseen; 10 THREE | raz: detach 3 from 2 at 30, raz: terminate 13 at 30
        # an attachment that is made again counts again
        max-devices-per-user=2 | 0 | 30 | 10 THREE; 10; 10 THREE | raz: detach 3 from 2 at 200, raz: detach 3 from 2 at 30, raz: terminate 13 at 30
        """)
    void replays(String rule, int since, int grace, String cycles, @Nullable String expected) {
        var text = cycles.replace(
                        "STRANGER",
                        "env 1 of alice uid 1005 live 1005 on 0 & process 1 uid 1005 in 1 on 1=1mi"
                                + " & process 9 later 9000 uid 6666 in 1 on 0=1mi")
                .replace("FULL", "env 1 capacity 1000mi on 0 & process 1 in 1 on 0=900mi & process 2 in 1 on 0=300mi")
                .replace(
                        "THREE",
                        "env 1 on 0 & env 2 on 1 & env 3 on 2 & process 11 in 1 on 0=1mi & process 12 in 2 on 1=1mi"
                                + " & process 13 later 9000 in 3 on 2=1mi");
        for (var part : text.split("; ", -1)) {
            var words = part.split(" ", 2);
            if (part.equals("restart")) {
                past.restarts().waits(Duration.ofMinutes(10));
            } else {
                past.cycles(
                        Integer.parseInt(words[0]),
                        words.length == 1 ? host().devices(3).snapshot() : snapshot(words[1]));
            }
        }
        var limit = rule.split("=", -1);
        var policy = limit.length == 1 ? enforcing(KnownRules.named(rule)) : quota(Integer.parseInt(limit[1]));
        assertThat(actions(replay(policy, Duration.ofSeconds(grace), at(since))))
                .isEqualTo(expected == null ? List.of() : List.of(expected.split(", ", -1)));
    }

    private static Snapshot snapshot(String words) {
        return words.equals("unseen")
                ? Snapshot.unseen("here", new Problem(ProblemCode.UNREACHABLE, "no answer"))
                : host().devices(3).with(words.split(" & ", -1)).snapshot();
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

    /** What is done for each user, in seconds after the begin. */
    private static List<String> actions(Replay replay) {
        return replay.users().stream()
                .flatMap(user -> user.actions().stream()
                        .map(action -> "%s: %s %s at %d"
                                .formatted(
                                        user.user(),
                                        action.type(),
                                        action.pid() == null
                                                ? action.environment() + " from " + action.device()
                                                : Objects.toString(action.pid()),
                                        Duration.between(RecordedPast.BEGIN, action.at())
                                                .toSeconds())))
                .sorted()
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
        var fleet = history.record(new Fleet(snapshots, true, now), _ -> Remembered.NOTHING);
        var gate = new Gate(enforcement(policy), history, 0, ticker());
        var plan = policy.check(fleet, ExpectedExits.NONE, gate::isDue);
        history.record(plan, gate::isInForce);
        for (var planned : plan.actions()) {
            var acts = gate.judge(planned) instanceof Gate.Verdict.Now;
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
        return new History(enforcement(policy), RecordedPast.INTERVAL, ticker());
    }

    private static Enforcement enforcement(Policy policy) {
        return new Enforcement(ServiceMode.ENFORCE, rule -> policy.modeOf(rule) == RuleMode.ENFORCE, true, SHORT_GRACE);
    }

    private Ticker ticker() {
        return new Ticker(() -> now, () -> Duration.ofMillis(mark()).toNanos());
    }

    private long mark() {
        return Duration.between(RecordedPast.BEGIN, now).toMillis();
    }
}
