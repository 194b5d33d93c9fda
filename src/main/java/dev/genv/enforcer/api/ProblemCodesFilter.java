package dev.genv.enforcer.api;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.api.view.HostView;
import dev.genv.enforcer.model.problem.ProblemCode;
import io.quarkus.smallrye.openapi.OpenApiFilter;
import java.util.Arrays;
import org.eclipse.microprofile.openapi.OASFilter;
import org.eclipse.microprofile.openapi.models.OpenAPI;

/** Lists the codes of problems in the description of the API. It runs while the service is built. */
@OpenApiFilter(stages = OpenApiFilter.RunStage.BUILD)
public class ProblemCodesFilter implements OASFilter {
    @Override
    public void filterOpenAPI(OpenAPI api) {
        var name = HostView.ProblemView.class.getSimpleName();
        var problem = requireNonNull(api.getComponents().getSchemas().get(name), name);
        var code = requireNonNull(problem.getProperties().get("code"), name);
        code.setEnumeration(Arrays.stream(ProblemCode.values())
                .<Object>map(ProblemCode::label)
                .toList());
    }
}
