package dev.genv.enforcer.api;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.format.BoundedOutput;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Policy;
import io.vertx.ext.web.RoutingContext;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.enums.SchemaType;
import org.eclipse.microprofile.openapi.annotations.media.Content;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.eclipse.microprofile.openapi.annotations.parameters.RequestBody;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** Answers what would happen if. Nothing is touched. */
@Path(PlanResource.PATH)
@Consumes(MediaType.APPLICATION_JSON)
@Produces(MediaType.APPLICATION_JSON)
public class PlanResource {
    static final String PATH = "/plan";
    static final int LARGEST_BODY = 32 << 20;
    /** Each keeps a processor busy, and cycles need one too. */
    private static final int AT_ONCE = 2;

    private final Enforcer enforcer;
    private final PlanMemory memory;
    private final ObjectMapper json;
    private final Semaphore turns = new Semaphore(AT_ONCE);

    PlanResource(Enforcer enforcer, PlanMemory memory, ObjectMapper json) {
        this.enforcer = enforcer;
        this.memory = memory;
        this.json = json;
    }

    private record Question(Policy policy, Fleet fleet) {}

    @POST
    @Operation(
            summary = "What a policy would do to a fleet",
            description = "Without a policy: the running one. Without snapshots: the fleet of the last cycle.")
    @RequestBody(content = @Content(mediaType = MediaType.APPLICATION_JSON, schema = @Schema(type = SchemaType.OBJECT)))
    @APIResponse(
            responseCode = "200",
            content =
                    @Content(mediaType = MediaType.APPLICATION_JSON, schema = @Schema(implementation = PlanView.class)))
    public byte[] plan(@Context RoutingContext request) {
        if (!turns.tryAcquire()) {
            throw ApiException.notYet("%d other plans are being made; try again soon".formatted(AT_ONCE));
        }
        try (var body = PlanBodies.of(request).use()) {
            var question = read(body);
            return write(PlanView.of(check(question)));
        } finally {
            turns.release();
        }
    }

    private static Plan check(Question question) {
        return question.policy.check(question.fleet, Set.of());
    }

    private Question read(PlanBody body) {
        var request = new PlanRequest(body.open());
        var policy = request.policy().orElseGet(enforcer::policy);
        var snapshots = request.snapshots();
        if (snapshots.isPresent()) {
            return new Question(
                    policy,
                    new Fleet(
                            snapshots.get(),
                            enforcer.isRemote() || snapshots.get().size() > 1));
        }
        var fleet = lastFleet();
        body.reserveFurther(PlanCost.of(fleet));
        return new Question(policy, fleet);
    }

    private Fleet lastFleet() {
        return enforcer.latest()
                .map(CycleReport::fleet)
                .orElseThrow(() -> ApiException.notYet("no cycle has ended yet, and the body has no snapshots"));
    }

    private byte[] write(PlanView view) {
        var out = new BoundedOutput(memory.largestAnswer());
        try {
            json.writeValue(out, view);
        } catch (BoundedOutput.FullException e) {
            throw ApiException.tooLarge(
                    "the plan is larger than %d bytes; ask for fewer hosts at once".formatted(memory.largestAnswer()));
        } catch (IOException e) {
            throw new IllegalStateException("a plan cannot be written as JSON", e);
        }
        return out.toByteArray();
    }
}
