package dev.genv.enforcer.api.openapi;

import java.util.List;
import org.eclipse.microprofile.openapi.OASFactory;
import org.eclipse.microprofile.openapi.models.OpenAPI;
import org.eclipse.microprofile.openapi.models.Operation;
import org.eclipse.microprofile.openapi.models.PathItem;
import org.eclipse.microprofile.openapi.models.media.Schema;
import org.eclipse.microprofile.openapi.models.media.Schema.SchemaType;
import org.eclipse.microprofile.openapi.models.parameters.Parameter;

/** The streams of events, which Quarkus does not find because they are routes and no resources. */
final class StreamPaths {
    private static final List<String> FILTERS = List.of("rule", "user", "host");

    private StreamPaths() {}

    static void addTo(OpenAPI api) {
        api.getPaths().addPathItem("/events", get("followEvents", "All events as they happen"));
        api.getPaths()
                .addPathItem("/violations/stream", get("followViolations", "The events of violations as they happen"));
        api.getComponents().addSchema("EventView", event()).addSchema("GapView", gap());
    }

    private static PathItem get(String id, String summary) {
        var operation = OASFactory.createOperation().operationId(id).summary(summary);
        FILTERS.forEach(name -> addParameter(operation, name, Parameter.In.QUERY));
        addParameter(operation, "last_event_id", Parameter.In.QUERY);
        addParameter(operation, "Last-Event-ID", Parameter.In.HEADER);
        var type = OASFactory.createMediaType().schema(text());
        operation.responses(OASFactory.createAPIResponses()
                .addAPIResponse(
                        "200",
                        OASFactory.createAPIResponse()
                                .content(OASFactory.createContent().addMediaType("text/event-stream", type))));
        return OASFactory.createPathItem().GET(operation);
    }

    private static void addParameter(Operation operation, String name, Parameter.In in) {
        operation.addParameter(OASFactory.createParameter().name(name).in(in));
    }

    private static Schema event() {
        return OASFactory.createSchema()
                .addType(SchemaType.OBJECT)
                .addProperty("type", text())
                .addProperty("at", reference("Instant"))
                .addProperty("violation", reference("ViolationView"))
                .addProperty("action", reference("ActionView"))
                .addProperty("host", text())
                .addProperty("problem", reference("ProblemView"))
                .addProperty("version", text())
                .addProperty("mode", text());
    }

    private static Schema gap() {
        return OASFactory.createSchema()
                .addType(SchemaType.OBJECT)
                .addProperty("type", text())
                .addProperty("at", reference("Instant"))
                .addProperty("reason", text());
    }

    private static Schema text() {
        return OASFactory.createSchema().addType(SchemaType.STRING);
    }

    private static Schema reference(String schema) {
        return OASFactory.createSchema().ref("#/components/schemas/" + schema);
    }
}
