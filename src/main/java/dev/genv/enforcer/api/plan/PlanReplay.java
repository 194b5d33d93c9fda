package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.query.FleetMemory;
import dev.genv.enforcer.api.query.PastAccess;
import dev.genv.enforcer.api.query.Period;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.view.ReplayView;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.recording.PictureReader;
import dev.genv.enforcer.recording.Recorder;
import dev.genv.enforcer.recording.Replay;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Singleton;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/** Computes what a policy would have done to the recorded past. */
@Singleton
public class PlanReplay {
    /** How long before a period a replay begins to read, to know how old claims are. */
    private static final Duration EARLIER = Duration.ofHours(1);

    private final Enforcer enforcer;
    private final PastAccess past;
    private final Recorder recorder;

    PlanReplay(Enforcer enforcer, PastAccess past, Recorder recorder) {
        this.enforcer = enforcer;
        this.past = past;
        this.recorder = recorder;
    }

    /** Returns the period of a request; empty if it asks for a plan. */
    Optional<Period> period(MultivaluedMap<String, String> query) {
        if (query.isEmpty()) {
            return Optional.empty();
        }
        var parameters = new QueryParameters(query, Set.of("since", "until"));
        var since = parameters.get("since");
        if (since == null) {
            throw new ApiException(400, "the parameter until needs the parameter since");
        }
        var now = enforcer.ticker().now();
        var until = Period.instant("until", parameters.get("until"), now);
        return Optional.of(new Period(Period.instant("since", since, Instant.EPOCH), until));
    }

    ReplayView run(RoutingContext request, Period period, Policy policy) {
        return past.read(request, (database, isOver) -> {
            var config = enforcer.config();
            var replay = new Replay(new Replay.Config(
                    policy, config.safetyLimits().grace(), config.interval(), period.from(), config.remote()));
            var pictures = new PictureReader(database);
            var memory = new FleetMemory();
            var recordedSince = pictures.begin();
            var isWhole = pictures.read(period.from().minus(EARLIER), period.to(), recorded -> {
                memory.hold(recorded);
                replay.add(recorded);
                return !isOver.getAsBoolean();
            });
            var isInTime = !isOver.getAsBoolean();
            if (isInTime) {
                var now = enforcer.ticker().now();
                var end = period.to().isBefore(now) ? period.to() : now;
                var present = Math.max(recorder.mark(), pictures.lastMark());
                replay.finish(end, pictures.markAfter(end).orElse(present));
            }
            return ReplayView.of(replay, recordedSince.orElse(null), isInTime && isWhole);
        });
    }
}
