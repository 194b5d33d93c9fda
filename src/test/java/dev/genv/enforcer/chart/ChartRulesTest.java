package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The chart has a value for each setting that a rule declares. A failure names what is missing, and in which file. */
class ChartRulesTest {
    private final List<String> missing = new ArrayList<>();

    @Test
    void everySettingOfARuleIsAValueWithItsDefault() throws IOException {
        var values = ChartValues.read().all();
        forEachSetting((rule, setting) -> {
            var path = "settings." + valueOf(setting);
            var described = values.stream()
                    .filter(value -> value.path().equals(path))
                    .map(ChartValues.Value::description)
                    .findFirst();
            if (described.isEmpty()) {
                missing.add("values.yaml lacks %s of the rule %s".formatted(path, rule));
            } else if (!described.get().contains(defaultOf(rule, setting))) {
                missing.add("values.yaml: the comment of %s lacks \"%s\"".formatted(path, defaultOf(rule, setting)));
            }
        });
        assertThat(missing).isEmpty();
    }

    @Test
    void theSchemaGivesEverySettingOfARuleItsType() throws IOException {
        var schema = RenderedChart.parse(file("values.schema.json")).at("/properties/settings/properties");
        forEachSetting((rule, setting) -> {
            var described = schema.path(valueOf(setting));
            if (!typeOf(described).equals(typeOf(setting))) {
                missing.add("values.schema.json lacks settings.%s of the rule %s with the type %s"
                        .formatted(valueOf(setting), rule, typeOf(setting)));
            }
        });
        assertThat(missing).isEmpty();
    }

    /** YAML reads the modes on and off as booleans. */
    @Test
    void theTemplatesTranslateTheModeOfEveryRule() {
        for (var rule : Rules.definitions()) {
            var value = valueOf(rule.modeSetting());
            var limit = rule.hasLimit() ? "maxDevicesPerUser: 1, " : "";
            var environment = RenderedChart.of("settings: {%s%s: false}".formatted(limit, value))
                    .environment();
            assertThat(environment.values()).as(value).contains("off");
        }
    }

    private static String defaultOf(RuleDefinition rule, RuleSetting setting) {
        return switch (setting.kind()) {
            case MODE, REPORT_MODE ->
                "Default: `%s`".formatted(rule.defaultMode().name().toLowerCase(Locale.ROOT));
            case LIMIT -> "Default: no limit";
            case LIMITS_OF_USERS -> "";
        };
    }

    private static String typeOf(RuleSetting setting) {
        return switch (setting.kind()) {
            case MODE -> "#/definitions/ruleMode";
            case REPORT_MODE -> "#/definitions/reportMode";
            case LIMIT -> "#/definitions/limit";
            case LIMITS_OF_USERS -> "object";
        };
    }

    private static String typeOf(JsonNode described) {
        return described.path("$ref").asText(described.path("type").asText());
    }

    /** Such as {@code envDevices} for {@code env-devices}. */
    private static String valueOf(RuleSetting setting) {
        return Pattern.compile("-(.)")
                .matcher(setting.name())
                .replaceAll(letter -> letter.group(1).toUpperCase(Locale.ROOT));
    }

    private static String file(String name) throws IOException {
        return Files.readString(RenderedChart.CHART.resolve(name));
    }

    private static void forEachSetting(BiConsumer<RuleDefinition, RuleSetting> consumer) {
        Rules.definitions().forEach(rule -> rule.settings().forEach(setting -> consumer.accept(rule, setting)));
    }
}
