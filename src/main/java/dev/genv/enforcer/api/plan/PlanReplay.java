package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.query.PastAccess;
import dev.genv.enforcer.api.query.Period;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.view.ReplayView;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.recording.replay.Replay;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Singleton;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;

/** Computes what a policy would have done to the recorded past. */
@Singleton
public class PlanReplay {
    private final Enforcer enforcer;
    private final PastAccess past;

    PlanReplay(Enforcer enforcer, PastAccess past) {
        this.enforcer = enforcer;
        this.past = past;
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
        try (var reading = past.open(request, period)) {
            var recordedSince = reading.recordedSince();
            var replay =
                    new Replay(policy, enforcer.config().safetyLimits().grace().isZero(), enforcer.isRemote());
            reading.cycles(cycle -> {
                if (period.contains(cycle.at())) {
                    replay.check(cycle);
                } else {
                    replay.observe(cycle);
                }
            });
            return ReplayView.of(replay, recordedSince, reading.isComplete());
        }
    }
}
