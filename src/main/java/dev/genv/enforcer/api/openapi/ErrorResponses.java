package dev.genv.enforcer.api.openapi;

import io.netty.handler.codec.http.HttpResponseStatus;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.TreeSet;
import org.eclipse.microprofile.openapi.OASFactory;
import org.eclipse.microprofile.openapi.models.Operation;
import org.eclipse.microprofile.openapi.models.media.Schema;
import org.eclipse.microprofile.openapi.models.media.Schema.SchemaType;
import org.eclipse.microprofile.openapi.models.responses.APIResponse;

/** The errors of operations, in the form of all errors. */
final class ErrorResponses {
    static final String SCHEMA = "Problem";

    private static final String TYPE = "application/problem+json";

    private final ApiTexts texts;

    ErrorResponses(ApiTexts texts) {
        this.texts = texts;
    }

    /** The schema of RFC 9457. */
    Schema schema() {
        return OASFactory.createSchema()
                .addType(SchemaType.OBJECT)
                .addProperty("title", OASFactory.createSchema().addType(SchemaType.STRING))
                .addProperty("status", OASFactory.createSchema().addType(SchemaType.INTEGER))
                .addProperty("detail", OASFactory.createSchema().addType(SchemaType.STRING));
    }

    /** Adds the errors of every request, and those of this operation. */
    void addTo(Operation operation) {
        var all = new TreeSet<>(texts.words("errors"));
        all.addAll(texts.words("operation." + operation.getOperationId() + ".errors"));
        all.forEach(status -> operation.getResponses().addAPIResponse(status, response(status)));
    }

    private APIResponse response(String status) {
        var example = new LinkedHashMap<String, Object>();
        example.put(
                "title", HttpResponseStatus.valueOf(Integer.parseInt(status)).reasonPhrase());
        example.put("status", Integer.valueOf(status));
        example.put("detail", texts.text("error." + status + ".detail"));
        var type = OASFactory.createMediaType()
                .schema(OASFactory.createSchema().ref("#/components/schemas/" + SCHEMA))
                .example(example);
        var response = OASFactory.createAPIResponse()
                .description(texts.text("error." + status))
                .content(OASFactory.createContent().addMediaType(TYPE, type));
        if (List.of("503").contains(status)) {
            response.addHeader(
                    "Retry-After",
                    OASFactory.createHeader()
                            .description(texts.text("header.Retry-After"))
                            .schema(OASFactory.createSchema().addType(SchemaType.INTEGER))
                            .example(1));
        }
        return response;
    }
}
