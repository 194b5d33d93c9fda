package dev.genv.enforcer.recording;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.History;
import dev.genv.enforcer.enforcement.History.Delay;
import dev.genv.enforcer.enforcement.History.Enforcement;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Replay.ReplayedHost;
import dev.genv.enforcer.testsupport.KnownRules;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A replay does what a service does that checks every host in every cycle: {@code -Dfuzz.seed} and {@code -Dfuzz.pasts}. */
class ReplayPropertyTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_122);
    private static final int PASTS = Integer.getInteger("fuzz.pasts", 20);
    private static final int CYCLES = 30;
    private static final Duration GRACE = Duration.ofSeconds(20);

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
            var replay = new Replay(new Replay.Config(policy, GRACE, RecordedPast.INTERVAL, Instant.EPOCH, true));
            past.read().forEach(replay::add);
            replay.finish(past.now().minusMillis(1), past.recorder.mark() - 1); // the next cycle is not checked
            assertThat(replay.users().stream().flatMap(user -> user.actions().stream()))
                    .extracting(action -> action.at()
                            + action.host()
                            + action.type()
                            + action.pid()
                            + (action.pid() == null ? action.environment() : "")
                            + action.device())
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
                var action = ReplayedUser.ReplayedAction.of(now, planned);
                expected.add(action.at()
                        + action.host()
                        + action.type()
                        + action.pid()
                        + (action.pid() == null ? action.environment() : "")
                        + action.device());
            }
        }
    }

    private History history(Policy policy) {
        return new History(
                new Enforcement(rule -> policy.modeOf(rule) == RuleMode.ENFORCE, true, GRACE),
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
