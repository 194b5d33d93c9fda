package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.model.Fleet;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.eclipse.microprofile.openapi.annotations.Operation;

/** Answers what would happen if. Nothing is touched. */
@Path(PlanResource.PATH)
@Consumes(MediaType.APPLICATION_JSON)
@Produces(MediaType.APPLICATION_JSON)
public class PlanResource {
    static final String PATH = "/plan";
    static final int LARGEST_BODY = 32 << 20;
    /** Each may take a hundred times its body's size while it is answered, and cycles need memory too. */
    private static final int AT_ONCE = 2;

    private final Enforcer enforcer;
    private final Semaphore turns = new Semaphore(AT_ONCE);

    PlanResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @POST
    @Operation(
            summary = "What a policy would do to a fleet",
            description = "Without a policy: the running one. Without snapshots: the fleet of the last cycle.")
    public PlanView plan(InputStream body) {
        if (!turns.tryAcquire()) {
            throw ApiException.notYet("%d other plans are being made; try again soon".formatted(AT_ONCE));
        }
        try {
            return answer(body);
        } finally {
            turns.release();
        }
    }

    private PlanView answer(InputStream body) {
        var bytes = read(body);
        if (bytes.length > LARGEST_BODY) {
            throw ApiException.tooLarge("the body is larger than %d bytes".formatted(LARGEST_BODY));
        }
        var request = new PlanRequest(bytes);
        var policy = request.policy().orElseGet(enforcer::policy);
        var fleet = request.snapshots()
                .map(snapshots -> new Fleet(snapshots, enforcer.isRemote() || snapshots.size() > 1))
                .orElseGet(this::lastFleet);
        return PlanView.of(policy.check(fleet, Set.of()));
    }

    private static byte[] read(InputStream body) {
        try {
            return body.readNBytes(LARGEST_BODY + 1);
        } catch (IOException e) {
            // The client's doing, and nothing that the log must tell.
            throw ApiException.tooSlow("the body did not come to its end: " + e.getMessage());
        }
    }

    private Fleet lastFleet() {
        return enforcer.latest()
                .map(CycleReport::fleet)
                .orElseThrow(() -> ApiException.notYet("no cycle has ended yet, and the body has no snapshots"));
    }
}
