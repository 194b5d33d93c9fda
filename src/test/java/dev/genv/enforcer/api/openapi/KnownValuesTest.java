package dev.genv.enforcer.api.openapi;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProblemCode.ProblemConsequence;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.Rule.RuleSetting.Kind;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The values, the rules and the policy in openapi.yaml are those of the code. */
class KnownValuesTest {
    private static final List<String> RULES =
            Rules.definitions().stream().map(RuleDefinition::name).toList();
    /** By the schema and the field. */
    private static final Map<String, List<String>> VALUES = Map.ofEntries(
            Map.entry("ActionView.outcome", labels(Outcome.values(), Outcome::label)),
            Map.entry("Found.rule", RULES),
            Map.entry("MembershipView.by", labels(MembershipSource.values(), MembershipSource::label)),
            Map.entry("NextView.because", labels(WaitReason.values(), WaitReason::label)),
            Map.entry("ProblemView.code", labels(ProblemCode.values(), ProblemCode::label)),
            Map.entry("ProblemView.consequence", labels(ProblemConsequence.values(), ProblemConsequence::label)),
            Map.entry("Rule.name", RULES),
            Map.entry("RuleCounts.rule", RULES),
            Map.entry("TimelineEntry.rule", RULES),
            Map.entry("ViolationView.rule", RULES));

    private JsonNode api = new YAMLMapper().createObjectNode();

    @BeforeEach
    void read() throws IOException {
        api = new YAMLMapper()
                .readTree(Path.of("src/main/resources/META-INF/openapi.yaml").toFile());
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
    void theParameterRuleHasTheRules() {
        var parameters = api.findValues("parameters").stream()
                .flatMap(all -> all.valueStream())
                .filter(each -> each.path("name").asText().equals("rule"))
                .toList();
        assertThat(parameters)
                .isNotEmpty()
                .allSatisfy(parameter ->
                        assertThat(texts(parameter.at("/schema/enum"))).isEqualTo(RULES));
    }

    /** A rule with a limit is on if it has one. */
    @Test
    void thePolicyOfARequestHasTheSettingsOfTheRules() {
        var expected = new LinkedHashMap<String, String>();
        for (var rule : Rules.definitions()) {
            rule.settings().stream()
                    .filter(setting -> setting.kind() != Kind.MODE || !rule.hasLimit())
                    .forEach(setting -> expected.put(
                            setting.name().replace('-', '_'),
                            type(setting) + ": " + setting.meaning().strip()));
        }
        var described = new LinkedHashMap<String, String>();
        api.at("/components/schemas/Policy/properties")
                .properties()
                .forEach(field -> described.put(
                        field.getKey(),
                        field.getValue().path("type")
                                + ": "
                                + field.getValue().path("description").asText()));
        assertThat(described).isEqualTo(expected);
    }

    private static String type(RuleSetting setting) {
        return switch (setting.kind()) {
            case MODE, REPORT_MODE -> "\"boolean\"";
            case LIMIT, MEMORY_LIMIT -> "[\"integer\",\"null\"]";
            case LIMITS_OF_USERS, MEMORY_LIMITS_OF_USERS -> "\"object\"";
        };
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
