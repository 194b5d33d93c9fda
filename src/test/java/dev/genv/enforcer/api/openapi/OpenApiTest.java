package dev.genv.enforcer.api.openapi;

import static io.restassured.RestAssured.when;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProblemCode.ProblemConsequence;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.telemetry.RequestLabels;
import dev.genv.enforcer.testsupport.PolicyKeys;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tags;
import io.quarkus.test.junit.QuarkusTest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Everything in the description of the API has a text and an example, and every answer has the described form. The texts are in META-INF/openapi.yaml.
 */
@QuarkusTest
@Tag("quarkus")
class OpenApiTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> RULES =
            Rules.definitions().stream().map(RuleDefinition::name).toList();

    /** By the schema and the field. */
    private static final Map<String, List<String>> VALUES = Map.ofEntries(
            Map.entry("ActionView.outcome", labels(Outcome.values(), Outcome::label)),
            Map.entry("MembershipView.by", labels(MembershipSource.values(), MembershipSource::label)),
            Map.entry("NextView.because", labels(WaitReason.values(), WaitReason::label)),
            Map.entry("ProblemView.code", labels(ProblemCode.values(), ProblemCode::label)),
            Map.entry("ProblemView.consequence", labels(ProblemConsequence.values(), ProblemConsequence::label)));

    private static final Pattern DATA = Pattern.compile("(?m)^data: (.*)$");

    private final List<String> missing = new ArrayList<>();
    private JsonNode api = JSON.missingNode();
    private JsonAgainstSchema schemas = new JsonAgainstSchema(api);

    @BeforeEach
    void readDescription() throws Exception {
        api = JSON.readTree(when().get("/q/openapi?format=json").asString());
        schemas = new JsonAgainstSchema(api);
    }

    @Test
    void everyOperationParameterAndFieldHasTextsTypesAndExamples() {
        operations((path, operation) -> {
            requireAll(operation, path, "operationId", "summary", "description");
            var ok = operation.at("/responses/200");
            requireAll(ok, path + " 200", "description");
            requireExamples(ok, path + " 200");
            ok.path("content")
                    .properties()
                    .forEach(type -> requireType(type.getValue().path("schema"), path));
            var body = operation.path("requestBody");
            if (!body.isMissingNode()) {
                requireAll(body, path + " body", "description");
                requireExamples(body, path + " body");
            }
            operation.path("parameters").forEach(parameter -> {
                var name = path + " " + parameter.path("name").asText();
                requireAll(parameter, name, "description", "example");
                requireType(parameter.path("schema"), name);
            });
        });
        api.at("/components/schemas").properties().forEach(schema -> {
            requireText(schema.getValue(), schema.getKey());
            schema.getValue()
                    .path("properties")
                    .properties()
                    .forEach(field -> requireText(field.getValue(), schema.getKey() + "." + field.getKey()));
        });
        assertThat(missing).isEmpty();
    }

    @Test
    void everyErrorIsProblemJsonWithAnExample() {
        operations((path, operation) -> operation.path("responses").properties().forEach(response -> {
            if (!response.getKey().equals("200")) {
                var name = path + " " + response.getKey();
                var error = error(response.getValue());
                requireAll(error, name, "description");
                var content = error.path("content").path("application/problem+json");
                requireAll(content.path("example"), name, "title", "detail");
                assertThat(content.path("example").path("status").asText()).isEqualTo(response.getKey());
            }
        }));
        assertThat(missing).isEmpty();
    }

    /** What the Java types say: a component of a record that can be null is so in the description, and every other one is required. */
    @Test
    void fieldsThatCanBeNullSayItAndAllOthersAreRequired() {
        assertThat(field("HostView", "driver").path("type")).hasToString("[\"string\",\"null\"]");
        assertThat(field("StatusView", "last_cycle_at").at("/anyOf/0/$ref").asText())
                .isEqualTo("#/components/schemas/Instant");
        assertThat(field("StatusView", "last_cycle_at").at("/anyOf/1/type").asText())
                .isEqualTo("null");
        assertThat(field("DeviceStatusView", "utilization_last_hour").at("/items/type"))
                .hasToString("[\"integer\",\"null\"]");
        assertThat(field("ActionView", "pid").path("type").asText())
                .as("left out if it does not apply")
                .isEqualTo("integer");
        assertThat(texts(api.at("/components/schemas/ActionView/required")))
                .containsExactlyInAnyOrder("type", "host", "at", "outcome", "detail");
        assertThat(texts(api.at("/components/schemas/SnapshotView/required")))
                .containsExactlyInAnyOrder("processes", "envs", "devices");
        api.at("/components/schemas").properties().forEach(schema -> {
            var name = schema.getKey();
            if (!Set.of("Policy", "PolicyLimits", "PlanRequestView").contains(name)
                    && schema.getValue().has("properties")) {
                assertThat(schema.getValue().path("required")).as(name).isNotEmpty();
                schema.getValue().path("properties").properties().forEach(each -> {
                    var described = each.getValue().toString();
                    var isNullable = described.contains("\"null\"") || described.contains(",null]");
                    assertThat(each.getValue()
                                    .path("description")
                                    .asText()
                                    .toLowerCase(Locale.ROOT)
                                    .contains("null"))
                            .as("%s.%s: %s", name, each.getKey(), described)
                            .isEqualTo(isNullable);
                });
            }
        });
    }

    private JsonNode field(String schema, String name) {
        return api.at("/components/schemas/%s/properties/%s".formatted(schema, name));
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
    void theExamplesOfTheStreamHaveTheFormOfEvents() throws Exception {
        var example = api.path("paths")
                .path("/events")
                .at("/get/responses/200/content")
                .path("text/event-stream");
        var events = DATA.matcher(example.path("example").asText());
        var count = 0;
        while (events.find()) {
            schemas.check(JSON.readTree(events.group(1)), api.at("/components/schemas/EventView"), "/events");
            count++;
        }
        assertThat(count).isPositive();
    }

    @Test
    void aMethodThatAPathDoesNotHaveIsRefusedAndOptionsNamesTheDescribedOnes() {
        api.path("paths").properties().forEach(path -> {
            var methods = new TreeSet<String>();
            path.getValue().fieldNames().forEachRemaining(method -> methods.add(method.toUpperCase(Locale.ROOT)));
            var plain = path.getKey().replace("{", "").replace("}", "");
            for (var suffix : List.of("", "/", ";x=1")) {
                assertThat(when().delete(plain + suffix).statusCode())
                        .as(plain + suffix)
                        .isIn(405, suffix.isEmpty() ? 405 : 404);
            }
            var allowed = when().options(plain).header("Allow");
            assertThat(allowed.split(", ")).as(plain).contains(methods.toArray(String[]::new));
        });
    }

    @Test
    void everyRequestHasTheErrorsOfAllRequests() {
        operations((path, operation) -> assertThat(operation.path("responses").properties())
                .as(path)
                .extracting(Map.Entry::getKey)
                .contains("400", "401", "403", "405", "406", "411", "413", "421", "500", "503"));
    }

    /** Metrics count the requests of each path. */
    @Test
    void everyPathHasItsOwnLabel() {
        assertThat(api.path("paths").fieldNames()).toIterable().allSatisfy(path -> {
            var id = new Meter.Id("http.server.requests", Tags.of("uri", path), null, null, Meter.Type.TIMER);
            assertThat(new RequestLabels().map(id).getTag("uri")).isEqualTo(path);
        });
    }

    /** A text in openapi.yaml for what the classes do not have would describe something without a type. */
    private void requireText(JsonNode described, String name) {
        requireAll(described, name, "description");
        requireType(described, name);
    }

    private void requireType(JsonNode schema, String name) {
        if (Stream.of("type", "$ref", "oneOf", "anyOf").noneMatch(schema::has)) {
            missing.add(name + ": type");
        }
    }

    private void requireExamples(JsonNode described, String name) {
        described
                .path("content")
                .properties()
                .forEach(type -> requireAll(type.getValue(), name + " " + type.getKey(), "example"));
    }

    private JsonNode error(JsonNode response) {
        var reference = response.path("$ref").asText();
        assertThat(reference).startsWith("#/components/responses/");
        return api.at(reference.substring(1));
    }

    @Test
    void answersHaveTheDescribedForm() throws Exception {
        for (var path : api.path("paths").properties()) {
            var described = path.getValue().at("/get/responses/200/content/application~1json/schema");
            if (described.isObject() && !path.getKey().contains("{id}")) {
                var response = when().get(path.getKey().replace("{name}", "root"));
                if (response.statusCode() == 200) {
                    schemas.check(JSON.readTree(response.asString()), described, path.getKey());
                } else {
                    schemas.check(
                            JSON.readTree(response.asString()), api.at("/components/schemas/Problem"), path.getKey());
                }
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

    private void requireAll(JsonNode node, String name, String... fields) {
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
            for (var choice : List.of("oneOf", "anyOf")) {
                if (schema.has(choice)) {
                    checkOneOf(json, schema.path(choice), place);
                    return;
                }
            }
            var described = resolve(schema);
            assertThat(types(described)).as(place).containsAnyOf(typesOf(json));
            var values = described.path("enum");
            if (!values.isMissingNode()) {
                assertThat(values).as(place).contains(json);
            }
            if (json.isArray()) {
                json.forEach(each -> check(each, described.path("items"), place + "[]"));
            }
            if (json.isObject()) {
                assertThat(json.fieldNames()).toIterable().as(place).containsAll(texts(described.path("required")));
                json.properties().forEach(field -> {
                    var name = place + "." + field.getKey();
                    var known = described.path("properties").path(field.getKey());
                    var other = described.path("additionalProperties");
                    if (described.has("properties") || other.isObject()) {
                        assertThat(known.isObject() || other.isObject())
                                .as(name)
                                .isTrue();
                        check(field.getValue(), known.isObject() ? known : other, name);
                    }
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

        private JsonNode resolve(JsonNode schema) {
            var reference = schema.path("$ref").asText();
            return reference.isEmpty() ? schema : resolve(api.at(reference.substring(1)));
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

        /** A whole number is a number too. */
        private static String[] typesOf(JsonNode json) {
            return switch (json.getNodeType()) {
                case ARRAY -> new String[] {"array"};
                case OBJECT -> new String[] {"object"};
                case BOOLEAN -> new String[] {"boolean"};
                case NULL -> new String[] {"null"};
                case NUMBER -> json.isIntegralNumber() ? new String[] {"integer", "number"} : new String[] {"number"};
                default -> new String[] {"string"};
            };
        }
    }

    static Stream<String> fields() {
        return VALUES.keySet().stream().sorted();
    }

    @ParameterizedTest
    @MethodSource("fields")
    void aFieldHasTheValuesOfTheCode(String field) {
        var values = api.at("/components/schemas/" + field.replace(".", "/properties/") + "/enum");
        assertThat(texts(values)).isEqualTo(VALUES.get(field));
    }

    @Test
    void everyRuleIsOneOfTheRules() {
        assertThat(texts(api.at("/components/schemas/RuleName/enum"))).isEqualTo(RULES);
        var named = Stream.of("ViolationView", "Found", "RuleCounts", "TimelineEntry")
                .map(schema -> api.at("/components/schemas/" + schema + "/properties/rule"));
        var parameters = api.findValues("parameters").stream()
                .flatMap(all -> all.valueStream())
                .filter(each -> each.path("name").asText().equals("rule"))
                .map(each -> each.path("schema"));
        var others = Stream.of(
                api.at("/components/schemas/Rule/properties/name"),
                api.at("/components/schemas/Planned/properties/rules/items"));
        assertThat(Stream.of(named, parameters, others).flatMap(each -> each))
                .hasSizeGreaterThan(7)
                .allSatisfy(
                        schema -> assertThat(schema.path("$ref").asText()).isEqualTo("#/components/schemas/RuleName"));
    }

    @Test
    void thePolicyOfARequestHasTheKeysOfThePolicyFile() {
        assertThat(api.at("/components/schemas/Policy/properties").properties())
                .extracting(Map.Entry::getKey)
                .containsExactlyElementsOf(PolicyKeys.at(""));
        assertThat(api.at("/components/schemas/PolicyLimits/properties").properties())
                .extracting(Map.Entry::getKey)
                .containsExactlyElementsOf(PolicyKeys.at("max_devices"));
    }

    private static List<String> texts(JsonNode values) {
        var all = new ArrayList<String>();
        values.forEach(value -> all.add(value.asText()));
        return all;
    }

    private static <T> List<String> labels(T[] values, Function<T, String> label) {
        return Stream.of(values).map(label).toList();
    }
}
