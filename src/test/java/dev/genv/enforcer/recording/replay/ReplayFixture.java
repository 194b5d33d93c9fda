package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Playback;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.Map;

/** Replays a past that a test records. */
abstract class ReplayFixture {
    final Playback past = new Playback();

    Replay replay(Policy policy) {
        var replay = new Replay(policy, false, false);
        past.cycles.forEach(replay::check);
        return replay;
    }

    static Policy enforcing(RuleDefinition rule) {
        return KnownRules.policy(Map.of(rule, RuleMode.ENFORCE), Limits.NONE);
    }

    static Policy quota(int limit) {
        return KnownRules.policy(Map.of(MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(limit, Map.of()));
    }

    static Snapshot stray(GpuProcessBuilder process) {
        return host().devices(1).with(process.uses(0, "100mi")).snapshot();
    }
}
