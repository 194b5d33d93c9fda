package dev.genv.enforcer.recording.replay;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.history.Claims.RecordedAppearances;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Playback;
import dev.genv.enforcer.recording.RandomPast;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.replay.ReplayedAction.DetachedAttachment;
import dev.genv.enforcer.recording.replay.ReplayedAction.TerminatedProcess;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.RandomFleets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A replay does what a policy does that checks every whole fleet: {@code -Dfuzz.seed} and {@code -Dfuzz.pasts}. */
class ReplayPropertyTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_122);
    private static final int PASTS = Integer.getInteger("fuzz.pasts", 25);
    private static final int CYCLES = 20;
    /** In this past, a process still holds a device after the device was detached from its environment. */
    private static final long DETACHED_AND_HELD = 1_558;

    private RecordedAppearances attachments = new RecordedAppearances(false);
    private final Map<String, ReplayedHost> ended = new HashMap<>();
    private final List<String> expected = new ArrayList<>();

    @Test
    void endsWhatChecksOfAllHostsInEveryCycleEnd() {
        replayAsChecked(DETACHED_AND_HELD);
        for (var seed = SEED; seed < SEED + PASTS; seed++) {
            replayAsChecked(seed);
        }
    }

    private void replayAsChecked(long seed) {
        ended.clear();
        expected.clear();
        attachments = new RecordedAppearances(false);
        var past = new RandomPast(seed);
        var policy = policy(past.random());
        var replay = new Replay(policy, false, true);
        var playback = new Playback();
        for (var cycle = 0; cycle < CYCLES; cycle++) {
            var before = playback.cycles.size();
            playback.cycle(past.next().snapshots());
            if (playback.cycles.size() > before) {
                replay.check(playback.last());
                checkAll(policy, playback.last());
            }
        }
        assertThat(names(replay)).as("-Dfuzz.seed=" + seed).containsExactlyInAnyOrderElementsOf(expected);
    }

    private void checkAll(Policy policy, RecordedCycle cycle) {
        var snapshots = cycle.snapshots();
        ended.keySet().retainAll(snapshots.keySet());
        var fleet = new ArrayList<Snapshot>();
        snapshots.forEach((name, snapshot) -> {
            var ofHost = ended.computeIfAbsent(name, _ -> new ReplayedHost());
            ofHost.forgetAbsent(snapshot);
            fleet.add(ofHost.removeFrom(snapshot));
        });
        for (var planned : policy.check(new Fleet(fleet, true, attachments.record(fleet)), Set.of())
                .actions()) {
            var ofHost = ended.computeIfAbsent(planned.action().host(), _ -> new ReplayedHost());
            switch (planned.action()) {
                case Action.Terminate(var host, var process, var _) -> {
                    if (planned.enforced() && process.immunity() == null && ofHost.terminate(process.id())) {
                        expected.add(host + " process " + process.pid() + " "
                                + process.id().startTime());
                    }
                }
                case Action.Detach detach -> {
                    var environment = detach.environment();
                    if (planned.enforced()
                            && !environment.ownership().exempt()
                            && ofHost.detach(detach.device(), detach.attachment())) {
                        expected.add(
                                detach.host() + " environment " + environment.eid() + " device " + detach.device());
                    }
                }
            }
        }
    }

    private static List<String> names(Replay replay) {
        return replay.users().stream()
                .flatMap(user -> user.listed().stream())
                .map(action -> action.host()
                        + switch (action.target()) {
                            case TerminatedProcess process -> " process " + process.pid() + " " + process.startTime();
                            case DetachedAttachment(var environment, var device) ->
                                " environment " + environment + " device " + device;
                        })
                .toList();
    }

    private static Policy policy(RandomFleets random) {
        var modes = new HashMap<RuleDefinition, RuleMode>();
        var isQuotaAlone = random.oneIn(3);
        for (var rule : KnownRules.all()) {
            var mode = random.pick(List.of(RuleMode.values()));
            modes.put(rule, isQuotaAlone && !rule.hasLimit() ? RuleMode.OFF : mode);
        }
        return KnownRules.policy(modes, new Limits(random.random().nextInt(5), Map.of("raz", 1)));
    }
}
