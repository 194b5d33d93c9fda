package dev.genv.enforcer.api.plan;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.connection.ClientSlots.Slot;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.view.ProcessView;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.genv.BoundedOutput;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.UriInfo;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.eclipse.microprofile.openapi.annotations.media.Content;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.eclipse.microprofile.openapi.annotations.parameters.RequestBody;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;
import org.jspecify.annotations.Nullable;

/** Computes what a policy would do, and executes nothing. */
@Path(PlanResource.PATH)
@Consumes(MediaType.APPLICATION_JSON)
@Produces(MediaType.APPLICATION_JSON)
public class PlanResource {
    public static final String PATH = "/plan";
    /** Each plan occupies a processor, and cycles need one too. */
    public static final int MAX_CONCURRENT = 2;

    static final String ASK_LESS_FLEET = "send the snapshots of fewer hosts";

    private final Enforcer enforcer;
    private final EnforcerConfig config;
    private final ObjectMapper json;

    PlanResource(Enforcer enforcer, EnforcerConfig config, ObjectMapper json) {
        this.enforcer = enforcer;
        this.config = config;
        this.json = json;
    }

    @POST
    @RequestBody(
            content =
                    @Content(
                            mediaType = MediaType.APPLICATION_JSON,
                            schema = @Schema(ref = "#/components/schemas/PlanRequestView")))
    @APIResponse(
            responseCode = "200",
            content =
                    @Content(mediaType = MediaType.APPLICATION_JSON, schema = @Schema(implementation = PlanView.class)))
    public InputStream plan(InputStream body, @Context RoutingContext request, @Context UriInfo uri) {
        // With an ignored period, an answer about the present would look like one about the past.
        var _ = new QueryParameters(uri.getQueryParameters(), Set.of());
        try (var _ = Slot.hold(request).orElseThrow(() -> new ApiException(503, "the client has left"))) {
            return write(check(new PlanRequest(body, PlanMemory.largestTree())));
        }
    }

    /** The running policy is that of the service, with its mode; another one is judged as if the service enforced it. */
    PlanView check(PlanRequest request) {
        var other = request.policy(config.policies().get(), Instant.now());
        var policy = other.orElseGet(config::policy);
        var audits = other.isEmpty() && config.mode() == ServiceMode.AUDIT;
        var fleet = request.snapshots()
                .map(hosts -> new Fleet(hosts, config.remote() || hosts.size() > 1))
                .orElseGet(this::lastFleet);
        return PlanView.of(
                policy.check(fleet, Set.of()),
                planned -> !audits && policy.enforces(planned) && isPermitted(planned.action()));
    }

    /** Nothing is done to protected programs and exempt users, and signals may be off. */
    private boolean isPermitted(Action action) {
        return action.immunity() == null && (config.signals() || action instanceof Action.Detach);
    }

    private Fleet lastFleet() {
        var fleet = enforcer.latest()
                .map(CycleReport::fleet)
                .orElseThrow(() -> new ApiException(503, "no cycle has ended yet, and the body has no snapshots"));
        PlanMemory.check(fleet);
        return fleet;
    }

    /** Returns a stream, because the framework sends one no faster than the client reads it. */
    private InputStream write(PlanView view) {
        var out = new BoundedOutput(PlanMemory.largestAnswer());
        try {
            json.writeValue(out, view);
        } catch (BoundedOutput.FullException e) {
            throw new ApiException(
                    413, "the plan is larger than %d bytes; %s".formatted(PlanMemory.largestAnswer(), ASK_LESS_FLEET));
        } catch (IOException e) {
            throw new IllegalStateException("a plan cannot be written as JSON", e);
        }
        return new ByteArrayInputStream(out.toByteArray());
    }

    /**
     * The result of a plan request.
     *
     * @param unknownLimits the users whose limit is unknown, and who may exceed it
     * @param actions the actions that would be executed
     */
    public record PlanView(List<Found> violations, List<String> unknownLimits, List<Planned> actions) {

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
                var target = Target.of(planned.action());
                var user = switch (planned.action()) {
                    case Action.Terminate terminate -> terminate.process().userName();
                    case Action.Detach detach -> detach.environment().user().orElse(null);
                };
                return new Planned(
                        target.type(),
                        target.host(),
                        user,
                        target.pid(),
                        target.isProcess() ? planned.action().devices() : null,
                        target.environment(),
                        target.device(),
                        planned.ruleNames());
            }
        }

        static PlanView of(Plan plan, Predicate<PlannedAction> executed) {
            return new PlanView(
                    plan.violations().stream().map(Found::of).toList(),
                    plan.problems().stream()
                            .map(HostProblem::problem)
                            .filter(problem -> problem.code() == ProblemCode.QUOTA_UNDECIDED)
                            .map(Problem::detail)
                            .distinct()
                            .toList(),
                    plan.actions().stream().filter(executed).map(Planned::of).toList());
        }
    }
}
