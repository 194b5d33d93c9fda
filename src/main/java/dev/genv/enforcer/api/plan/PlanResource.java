package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.connection.ClientSlots.Slot;
import dev.genv.enforcer.api.query.PastAccess;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.view.ProcessView;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.recording.PictureReader;
import dev.genv.enforcer.recording.Recorder;
import dev.genv.enforcer.recording.Replay;
import dev.genv.enforcer.recording.ReplayedUser;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.StoreException;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.MultivaluedMap;
import jakarta.ws.rs.core.UriInfo;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.media.Content;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.eclipse.microprofile.openapi.annotations.parameters.RequestBody;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;
import org.jspecify.annotations.Nullable;

/** Computes what a policy would do, or would have done to the recorded past, and executes nothing. */
@Path(PlanResource.PATH)
@Consumes(MediaType.APPLICATION_JSON)
@Produces(MediaType.APPLICATION_JSON)
public class PlanResource {
    public static final String PATH = "/plan";
    /** Each plan occupies a processor, and cycles need one too. */
    public static final int MAX_CONCURRENT = 2;

    static final int LARGEST_BODY = 32 << 20;

    /** The heap of a replay besides its fleet: the results for users, whose number is limited, and the longest record. */
    private static final int BESIDE_THE_FLEET = 4 << 20;

    private static final String ASK_LESS_PAST = "choose a shorter period";
    static final String ASK_LESS_FLEET = "send the snapshots of fewer hosts";

    /** How long before a period a replay begins to read, to know how old claims are. */
    private static final Duration EARLIER = Duration.ofHours(1);

    private final Enforcer enforcer;
    private final EnforcerConfig config;
    private final Ticker ticker;
    private final PastAccess past;
    private final Recorder recorder;
    private final RequestLimits limits;
    private final ObjectMapper json;

    PlanResource(
            Enforcer enforcer,
            EnforcerConfig config,
            Ticker ticker,
            PastAccess past,
            Recorder recorder,
            RequestLimits limits,
            ObjectMapper json) {
        this.enforcer = enforcer;
        this.config = config;
        this.ticker = ticker;
        this.past = past;
        this.recorder = recorder;
        this.limits = limits;
        this.json = json;
    }

    @POST
    @Operation(
            operationId = "computePlan",
            summary = "What a policy would do to a fleet, or would have done to the recorded past")
    @RequestBody(
            content =
                    @Content(
                            mediaType = MediaType.APPLICATION_JSON,
                            schema = @Schema(ref = "#/components/schemas/PlanRequestView")))
    @APIResponse(
            responseCode = "200",
            description = "The violations, and the actions that they lead to.",
            content =
                    @Content(
                            mediaType = MediaType.APPLICATION_JSON,
                            schema = @Schema(oneOf = {PlanView.class, ReplayView.class})))
    public InputStream plan(InputStream body, @Context RoutingContext request, @Context UriInfo uri) {
        var period = period(uri.getQueryParameters());
        try (var _ = Slot.hold(request).orElseThrow(() -> new ApiException(503, "the client has left"))) {
            var query = new PlanRequest(body, limits.largestTree());
            return period.isPresent()
                    ? write(replay(request, query, period.get()), ASK_LESS_PAST)
                    : write(check(query), ASK_LESS_FLEET);
        }
    }

    /** Returns the period of a request; empty if it asks for a plan. */
    private Optional<Period> period(MultivaluedMap<String, String> query) {
        if (query.isEmpty()) {
            return Optional.empty();
        }
        var parameters = new QueryParameters(query, Set.of("since", "until"));
        if (parameters.get("since") == null) {
            throw new ApiException(400, "the parameter until needs the parameter since");
        }
        return Optional.of(new Period(parameters.begin("since", Instant.EPOCH), parameters.end("until", ticker.now())));
    }

    private ReplayView replay(RoutingContext request, PlanRequest query, Period period) {
        if (query.snapshots().isPresent()) {
            throw new ApiException(400, "since replays the recorded past, so the body cannot have snapshots");
        }
        var policy = query.policy(config.policy().idle()).orElseGet(config::policy);
        return past.read(request, (database, isOver) -> replay(database, isOver, period, policy));
    }

    private ReplayView replay(Database database, BooleanSupplier isOver, Period period, Policy policy)
            throws StoreException {
        var replay = new Replay(new Replay.Config(
                policy, config.safetyLimits().grace(), config.interval(), period.from(), config.remote()));
        var pictures = new PictureReader(database);
        var memory = new FleetMemory(BESIDE_THE_FLEET, ASK_LESS_PAST);
        var recordedSince = pictures.begin();
        var isWhole = pictures.read(period.from().minus(EARLIER), period.to(), recorded -> {
            var picture = recorded.picture();
            memory.hold(recorded.host(), picture == null ? null : picture.snapshot());
            replay.add(recorded);
            return !isOver.getAsBoolean();
        });
        var isInTime = !isOver.getAsBoolean();
        if (isInTime) {
            var now = ticker.now();
            var end = period.to().isBefore(now) ? period.to() : now;
            var present = Math.max(recorder.mark(), pictures.lastMark());
            replay.finish(end, pictures.markAfter(end).orElse(present));
        }
        return ReplayView.of(replay, recordedSince.orElse(null), isInTime && isWhole);
    }

    private PlanView check(PlanRequest request) {
        var policy = request.policy(config.policy().idle()).orElseGet(config::policy);
        var fleet = request.snapshots()
                .map(hosts -> new Fleet(hosts, config.remote() || hosts.size() > 1))
                .orElseGet(this::lastFleet);
        return PlanView.of(policy.check(fleet, Set.of()), policy);
    }

    private Fleet lastFleet() {
        var fleet = enforcer.latest()
                .map(CycleReport::fleet)
                .orElseThrow(() -> new ApiException(503, "no cycle has ended yet, and the body has no snapshots"));
        var memory = new FleetMemory(0, ASK_LESS_FLEET);
        fleet.snapshots().forEach(snapshot -> memory.hold(snapshot.host(), snapshot));
        return fleet;
    }

    /** Returns a stream, because the framework sends one no faster than the client reads it. */
    private InputStream write(Object view, String advice) {
        var out = new BoundedOutput(limits.largestAnswer());
        try {
            json.writeValue(out, view);
        } catch (BoundedOutput.FullException e) {
            throw new ApiException(
                    413, "the plan is larger than %d bytes; %s".formatted(limits.largestAnswer(), advice));
        } catch (IOException e) {
            throw new IllegalStateException("a plan cannot be written as JSON", e);
        }
        return new ByteArrayInputStream(out.toByteArray());
    }

    /**
     * The result of a plan request.
     *
     * @param actions the actions that would be executed, without those of rules in audit mode
     */
    public record PlanView(List<Found> violations, List<Planned> actions) {

        /** A violation that is not recorded. */
        public record Found(
                String rule,
                @Nullable String host,
                String message,
                @Nullable String user,
                @Nullable String environment,
                List<Integer> devices,
                List<ProcessView> processes) {
            static Found of(Violation violation) {
                return new Found(
                        violation.rule().name(),
                        violation.host(),
                        violation.message(),
                        violation.user(),
                        violation.environment(),
                        violation.devices(),
                        violation.processes().stream().map(ProcessView::of).toList());
            }
        }

        /** An action; only the fields of its type are present. */
        @JsonInclude(JsonInclude.Include.NON_NULL)
        public record Planned(
                String type,
                String host,
                @Nullable String user,
                @Nullable Integer pid,
                @Nullable List<Integer> devices,
                @Nullable String environment,
                @Nullable Integer device,
                List<String> rules) {
            static Planned of(PlannedAction planned) {
                var rules = planned.ruleNames();
                return switch (planned.action()) {
                    case Action.Terminate(var host, var process, var _) ->
                        new Planned(
                                "terminate",
                                host,
                                process.userName(),
                                process.pid(),
                                process.devices(),
                                null,
                                null,
                                rules);
                    case Action.Detach(var host, var environment, var device, var _) ->
                        new Planned(
                                "detach",
                                host,
                                environment.user().orElse(null),
                                null,
                                null,
                                environment.eid(),
                                device,
                                rules);
                };
            }
        }

        static PlanView of(Plan plan, Policy policy) {
            return new PlanView(
                    plan.violations().stream().map(Found::of).toList(),
                    plan.actions().stream()
                            .filter(policy::enforces)
                            .map(Planned::of)
                            .toList());
        }
    }

    /**
     * What a policy would have done to the recorded past.
     *
     * @param recordedSince since when something is recorded; null if nothing is
     * @param from when the policy begins to apply; null if nothing is recorded of the period
     * @param to until when the past is replayed; null if nothing is recorded of the period
     * @param instants the number of instants at which the rules were checked: something had changed, or a grace period ended
     * @param complete whether the whole period was replayed; if not, the time limit ended the replay at {@code to}, or records are damaged or
     *     were too large
     * @param users those to whom the policy would have done something, the most affected first
     */
    public record ReplayView(
            @Nullable Instant recordedSince,
            @Nullable Instant from,
            @Nullable Instant to,
            long instants,
            boolean complete,
            Totals totals,
            List<ReplayedUser> users) {

        /** The sums of all users. */
        public record Totals(int users, long terminations, long detachments) {}

        public static ReplayView of(Replay replay, @Nullable Instant recordedSince, boolean complete) {
            var users = replay.users();
            return new ReplayView(
                    recordedSince,
                    replay.from(),
                    replay.to(),
                    replay.instants(),
                    complete,
                    new Totals(
                            users.size(),
                            users.stream().mapToLong(ReplayedUser::terminations).sum(),
                            users.stream().mapToLong(ReplayedUser::detachments).sum()),
                    users);
        }
    }
}
