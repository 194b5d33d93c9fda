package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Journal;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.UriInfo;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.Operation;
import org.eclipse.microprofile.openapi.annotations.enums.ParameterIn;
import org.eclipse.microprofile.openapi.annotations.parameters.Parameter;

/** The violations, those that go on and those that are over. */
@Path(ViolationsResource.PATH)
@Produces(MediaType.APPLICATION_JSON)
public class ViolationsResource {
    static final String PATH = "/violations";

    private final Journal journal;

    ViolationsResource(Journal journal) {
        this.journal = journal;
    }

    @GET
    @Operation(summary = "The violations, newest first")
    @Parameter(name = "status", in = ParameterIn.QUERY, description = "active or resolved")
    @Parameter(name = "rule", in = ParameterIn.QUERY, description = "the name of a rule, such as env-memory")
    @Parameter(name = "user", in = ParameterIn.QUERY, description = "whose environment it is")
    @Parameter(name = "host", in = ParameterIn.QUERY, description = "on which machine")
    @Parameter(name = "since", in = ParameterIn.QUERY, description = "last seen at this instant or later (ISO-8601)")
    @Parameter(name = "limit", in = ParameterIn.QUERY, description = "how many, 1 to 1000; 100 if not given")
    public List<ViolationView> list(@Context UriInfo uri) {
        var filter = ViolationFilter.of(uri.getQueryParameters());
        return journal.find(filter.which(), filter.limit()).stream()
                .map(ViolationView::of)
                .toList();
    }

    @GET
    @Path("/{id}")
    @Operation(summary = "One violation")
    public ViolationView one(String id) {
        return journal.find(id)
                .map(ViolationView::of)
                .orElseThrow(() -> ApiException.notFound("there is no violation \"%s\"".formatted(id)));
    }
}
