package dev.genv.enforcer.api;

import dev.genv.enforcer.api.view.PolicyView;
import dev.genv.enforcer.enforcement.Enforcer;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.responses.APIResponse;

/** The running policy. */
@Path("/policy")
@Produces(MediaType.APPLICATION_JSON)
public class PolicyResource {
    private final Enforcer enforcer;

    PolicyResource(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @GET
    @Operation(
            operationId = "getPolicy",
            summary = "The running policy: the mode of the service, and the mode and limits of each rule")
    @APIResponse(responseCode = "200", description = "The running policy.")
    public PolicyView show() {
        return PolicyView.of(enforcer.config());
    }
}
