package dev.genv.enforcer.api.openapi;

import io.quarkus.smallrye.openapi.OpenApiFilter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.eclipse.microprofile.openapi.OASFactory;
import org.eclipse.microprofile.openapi.OASFilter;
import org.eclipse.microprofile.openapi.models.OpenAPI;
import org.eclipse.microprofile.openapi.models.Operation;
import org.eclipse.microprofile.openapi.models.media.Content;
import org.eclipse.microprofile.openapi.models.media.Schema;
import org.eclipse.microprofile.openapi.models.parameters.Parameter;
import org.eclipse.microprofile.openapi.models.security.SecurityScheme;

/**
 * Completes the description that Quarkus derives from the code: texts, examples, known values, errors and the streams. It runs while the
 * service is built. What has no text stays without one, and a test fails.
 */
@OpenApiFilter(stages = OpenApiFilter.RunStage.BUILD)
public class ApiDescription implements OASFilter {
    private static final String TOKEN = "token";
    private static final String CSV = "text/csv";

    private final ApiTexts texts = new ApiTexts();
    private final ErrorResponses errors = new ErrorResponses(texts);

    @Override
    public void filterOpenAPI(OpenAPI api) {
        StreamPaths.addTo(api);
        api.getComponents().addSchema(PolicySchema.NAME, PolicySchema.create());
        api.getComponents().addSchema(ErrorResponses.SCHEMA, errors.schema());
        api.getComponents()
                .addSecurityScheme(
                        TOKEN,
                        OASFactory.createSecurityScheme()
                                .type(SecurityScheme.Type.HTTP)
                                .scheme("bearer")
                                .description(texts.text("security")));
        // An empty requirement makes the token optional.
        api.setSecurity(List.of(
                OASFactory.createSecurityRequirement(),
                OASFactory.createSecurityRequirement().addScheme(TOKEN)));
        api.getComponents().setSchemas(described(api.getComponents().getSchemas()));
        api.getPaths().getPathItems().values().stream()
                .flatMap(path -> path.getOperations().values().stream())
                .forEach(this::describe);
    }

    private Map<String, Schema> described(Map<String, Schema> schemas) {
        var all = new HashMap<>(schemas);
        all.forEach((name, schema) -> {
            describe(schema, "schema." + name, name);
            if (schema.getProperties() != null) {
                schema.getProperties()
                        .forEach((field, value) ->
                                describe(value, "schema." + name + "." + field, name + "." + field, "field." + field));
            }
        });
        return all;
    }

    /** A text of the field in its schema comes before a text of all fields of that name. */
    private void describe(Schema schema, String key, String known, String... others) {
        if (schema.getDescription() == null) {
            schema.setDescription(
                    texts.text(Stream.concat(Stream.of(key), Stream.of(others)).toArray(String[]::new)));
        }
        if (!KnownValues.of(known).isEmpty()) {
            schema.setEnumeration(KnownValues.of(known));
        }
    }

    private void describe(Operation operation) {
        var id = operation.getOperationId();
        operation.setTags(null);
        operation.setDescription(texts.text("operation." + id));
        if (operation.getParameters() != null) {
            operation.getParameters().forEach(this::describe);
        }
        var body = operation.getRequestBody();
        if (body != null) {
            body.setDescription(texts.text("operation." + id + ".request"));
            addExample(body.getContent(), id + "-request");
        }
        var ok = operation.getResponses().getAPIResponse("200");
        ok.setDescription(texts.text("operation." + id + ".response"));
        addExample(ok.getContent(), id);
        errors.addTo(operation);
    }

    private void describe(Parameter parameter) {
        var name = parameter.getName();
        parameter.setDescription(texts.text("parameter." + name));
        var example = texts.text("parameter." + name + ".example");
        var schema = parameter.getSchema() == null
                ? OASFactory.createSchema().addType(Schema.SchemaType.STRING)
                : parameter.getSchema();
        var isNumber = "integer".equals(texts.text("parameter." + name + ".type"));
        if (isNumber) {
            schema.setType(List.of(Schema.SchemaType.INTEGER));
        }
        if (!KnownValues.of("parameter." + name).isEmpty()) {
            schema.setEnumeration(KnownValues.of("parameter." + name));
        }
        parameter.setSchema(schema);
        if (example != null) {
            parameter.setExample(isNumber ? Integer.valueOf(example) : example);
        }
    }

    private void addExample(Content content, String name) {
        content.getMediaTypes()
                .forEach((type, media) ->
                        texts.example(name + (type.equals(CSV) ? "-csv" : "")).ifPresent(media::setExample));
    }
}
