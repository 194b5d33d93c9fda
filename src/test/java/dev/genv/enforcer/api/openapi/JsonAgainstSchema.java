package dev.genv.enforcer.api.openapi;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Set;

/** Compares JSON with a schema of the description: every field must be described, and have a described type and value. */
record JsonAgainstSchema(JsonNode api) {
    void check(JsonNode json, JsonNode schema, String place) {
        if (schema.has("oneOf")) {
            checkOneOf(json, schema.path("oneOf"), place);
            return;
        }
        var described = resolve(schema);
        if (json.isNull()) {
            return; // the schemas do not say which fields can be null
        }
        assertThat(types(described)).as(place).contains(type(json));
        var values = described.path("enum");
        if (!values.isMissingNode()) {
            assertThat(values).as(place).contains(json);
        }
        if (json.isArray()) {
            json.forEach(each -> check(each, described.path("items"), place + "[]"));
        }
        if (json.isObject()) {
            json.properties().forEach(field -> {
                var name = place + "." + field.getKey();
                var known = described.path("properties").path(field.getKey());
                var other = described.path("additionalProperties");
                assertThat(known.isObject() || other.isObject()).as(name).isTrue();
                check(field.getValue(), known.isObject() ? known : other, name);
            });
        }
    }

    private void checkOneOf(JsonNode json, JsonNode schemas, String place) {
        var mismatches = new ArrayList<String>();
        for (var each : schemas) {
            try {
                check(json, each, place);
                return;
            } catch (AssertionError e) {
                mismatches.add(e.getMessage());
            }
        }
        throw new AssertionError(mismatches);
    }

    /** A schema may only name another one, perhaps beside null. */
    private JsonNode resolve(JsonNode schema) {
        var reference = schema.path("$ref").asText();
        if (!reference.isEmpty()) {
            return resolve(api.at(reference.substring(1)));
        }
        for (var each : schema.path("anyOf")) {
            if (each.has("$ref")) {
                return resolve(each);
            }
        }
        return schema;
    }

    private static Set<String> types(JsonNode schema) {
        var types = new HashSet<String>();
        var type = schema.path("type");
        if (type.isArray()) {
            type.forEach(each -> types.add(each.asText()));
        } else {
            types.add(type.asText());
        }
        return types;
    }

    private static String type(JsonNode json) {
        return switch (json.getNodeType()) {
            case ARRAY -> "array";
            case OBJECT -> "object";
            case BOOLEAN -> "boolean";
            case NUMBER -> json.isIntegralNumber() ? "integer" : "number";
            default -> "string";
        };
    }
}
