package dev.genv.enforcer.api.openapi;

import static io.restassured.RestAssured.when;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Everything in the description of the API has a text and an example. The texts are in META-INF/openapi.yaml. */
@QuarkusTest
@Tag("quarkus")
class OpenApiTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern DATA = Pattern.compile("(?m)^data: (.*)$");

    private JsonNode api = JSON.missingNode();
    private JsonAgainstSchema schemas = new JsonAgainstSchema(api);

    @BeforeEach
    void readDescription() throws Exception {
        api = JSON.readTree(when().get("/q/openapi?format=json").asString());
        schemas = new JsonAgainstSchema(api);
    }

    @Test
    void everyOperationParameterAndFieldHasTextsTypesAndExamples() {
        var missing = new ArrayList<String>();
        operations((path, operation) -> {
            requireAll(operation, path, missing, "operationId", "summary", "description");
            var ok = operation.at("/responses/200");
            requireAll(ok, path + " 200", missing, "description");
            requireExamples(ok, path + " 200", missing);
            ok.path("content")
                    .properties()
                    .forEach(type -> requireType(type.getValue().path("schema"), path, missing));
            var body = operation.path("requestBody");
            if (!body.isMissingNode()) {
                requireAll(body, path + " body", missing, "description");
                requireExamples(body, path + " body", missing);
            }
            operation.path("parameters").forEach(parameter -> {
                var name = path + " " + parameter.path("name").asText();
                requireAll(parameter, name, missing, "description", "example");
                requireAll(parameter.path("schema"), name, missing, "type");
            });
        });
        api.at("/components/schemas").properties().forEach(schema -> {
            requireText(schema.getValue(), schema.getKey(), missing);
            schema.getValue()
                    .path("properties")
                    .properties()
                    .forEach(field -> requireText(field.getValue(), schema.getKey() + "." + field.getKey(), missing));
        });
        assertThat(missing).isEmpty();
    }

    @Test
    void everyErrorIsProblemJsonWithAnExample() {
        var missing = new ArrayList<String>();
        operations((path, operation) -> operation.path("responses").properties().forEach(response -> {
            if (!response.getKey().equals("200")) {
                var name = path + " " + response.getKey();
                var error = error(response.getValue());
                requireAll(error, name, missing, "description");
                var content = error.path("content").path("application/problem+json");
                requireAll(content.path("example"), name, missing, "title", "detail");
                assertThat(content.path("example").path("status").asText()).isEqualTo(response.getKey());
            }
        }));
        assertThat(missing).isEmpty();
    }

    @Test
    void everyExampleHasTheFormOfItsSchema() {
        operations((path, operation) -> {
            for (var content : List.of(operation.at("/responses/200/content"), operation.at("/requestBody/content"))) {
                content.properties()
                        .forEach(type -> schemas.check(
                                type.getValue().path("example"), type.getValue().path("schema"), path));
            }
        });
    }

    @Test
    void theExamplesOfStreamsHaveTheFormOfEvents() throws Exception {
        for (var path : List.of("/events", "/violations/stream")) {
            var example = api.path("paths")
                    .path(path)
                    .at("/get/responses/200/content")
                    .path("text/event-stream");
            var events = DATA.matcher(example.path("example").asText());
            var count = 0;
            while (events.find()) {
                schemas.check(JSON.readTree(events.group(1)), api.at("/components/schemas/EventView"), path);
                count++;
            }
            assertThat(count).isPositive();
        }
    }

    @Test
    void aMethodThatAPathDoesNotHaveIsAnsweredWithTheDescribedOnes() {
        api.path("paths").properties().forEach(path -> {
            var methods = new TreeSet<String>();
            path.getValue().fieldNames().forEachRemaining(method -> methods.add(method.toUpperCase(Locale.ROOT)));
            if (methods.contains("GET")) {
                methods.add("HEAD");
            }
            for (var suffix : List.of("", "/", ";x=1")) {
                var response = when().delete(path.getKey().replace("{", "").replace("}", "") + suffix);
                assertThat(response.statusCode()).as(path.getKey() + suffix).isIn(405, suffix.isEmpty() ? 405 : 404);
                if (response.statusCode() == 405) {
                    assertThat(response.header("Allow").split(", ")).contains(methods.toArray(String[]::new));
                }
            }
        });
    }

    @Test
    void everyRequestHasTheErrorsOfAllRequests() {
        operations((path, operation) -> assertThat(operation.path("responses").properties())
                .as(path)
                .extracting(Map.Entry::getKey)
                .contains("401", "403", "405", "406", "421", "500"));
    }

    /** A text in openapi.yaml for what the classes do not have would describe something without a type. */
    private static void requireText(JsonNode described, String name, List<String> missing) {
        requireAll(described, name, missing, "description");
        requireType(described, name, missing);
    }

    private static void requireType(JsonNode schema, String name, List<String> missing) {
        if (!schema.has("type") && !schema.has("$ref") && !schema.has("oneOf")) {
            missing.add(name + ": type");
        }
    }

    private static void requireExamples(JsonNode described, String name, List<String> missing) {
        described
                .path("content")
                .properties()
                .forEach(type -> requireAll(type.getValue(), name + " " + type.getKey(), missing, "example"));
    }

    private JsonNode error(JsonNode response) {
        var reference = response.path("$ref").asText();
        assertThat(reference).startsWith("#/components/responses/");
        return api.at(reference.substring(1));
    }

    @Test
    void answersHaveTheDescribedForm() throws Exception {
        var answers = Map.of(
                "/violations", "/violations",
                "/hosts", "/hosts",
                "/status", "/status",
                "/snapshot", "/snapshot",
                "/users/root", "/users/{name}");
        for (var answer : answers.entrySet()) {
            var response = when().get(answer.getKey());
            if (response.statusCode() == 200) {
                var schema = api.path("paths")
                        .path(answer.getValue())
                        .at("/get/responses/200/content/application~1json/schema");
                schemas.check(JSON.readTree(response.asString()), schema, answer.getKey());
            }
        }
    }

    private void operations(BiConsumer<String, JsonNode> check) {
        var paths = api.path("paths").properties();
        assertThat(paths).hasSizeGreaterThan(7);
        paths.forEach(path -> path.getValue()
                .properties()
                .forEach(method -> check.accept(method.getKey() + " " + path.getKey(), method.getValue())));
    }

    private static void requireAll(JsonNode node, String name, List<String> missing, String... fields) {
        for (var field : fields) {
            var value = node.path(field);
            if (value.isMissingNode()
                    || value.isNull()
                    || (value.isTextual() && value.asText().isBlank())) {
                missing.add(name + ": " + field);
            }
        }
    }

    /** Compares JSON with a schema of the description: every field must be described, and have a described type and value. */
    private record JsonAgainstSchema(JsonNode api) {
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
}
