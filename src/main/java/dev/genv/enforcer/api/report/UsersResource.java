package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.util.Optional;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** The users of the fleet. */
@Path(UsersResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class UsersResource {
    public static final String PATH = "/users";

    private final Enforcer enforcer;
    private final ViolationRegistry registry;

    UsersResource(Enforcer enforcer, ViolationRegistry registry) {
        this.enforcer = enforcer;
        this.registry = registry;
    }

    @GET
    @Path("/{name}")
    @Operation(operationId = "getUser", summary = "What a user holds, what the user violates, and what follows")
    @APIResponse(
            responseCode = "200",
            description = "What is known of the user; the lists are empty if there is nothing.")
    public UserView get(String name) {
        var latest = enforcer.latest();
        return new UserReport(name, enforcer.policy(), registry, latest)
                .view()
                .orElseThrow(() -> unknown(name, latest));
    }

    private static ApiException unknown(String name, Optional<CycleReport> latest) {
        if (latest.isEmpty()) {
            return new ApiException(503, "no cycle has ended yet");
        }
        var error = latest.get().error();
        return error == null
                ? new ApiException(404, "no observed host and no violation knows a user \"%s\"".formatted(name))
                : new ApiException(503, "the last cycle failed: " + error);
    }
}
