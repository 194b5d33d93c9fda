package dev.genv.enforcer.config.settings;

import static dev.genv.enforcer.config.settings.SettingsReading.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RuleSettingsTest {

    @Test
    void everyRuleHasTheModeThatItDeclaresByDefault() throws InvalidSettingsException {
        var rules = read(Map.of()).rules();

        assertThat(rules).containsOnlyKeys(KnownRules.all());
        rules.forEach(
                (rule, config) -> assertThat(config).as(rule.name()).isEqualTo(RuleConfig.of(rule.defaultMode())));
    }

    @ParameterizedTest
    @CsvSource({"off,OFF", "false,OFF", "Audit,AUDIT", "enforce,ENFORCE", "TRUE,ENFORCE"})
    void readsModesOfRules(String text, RuleMode mode) throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_NON_ENV_PROCESSES", text)).rules())
                .containsEntry(KnownRules.NON_ENV_PROCESSES, RuleConfig.of(mode));
        assertThat(read(Map.of("GENV_ENFORCER_MAX_DEVICES_PER_USER_MODE", text)).rules())
                .containsEntry(KnownRules.MAX_DEVICES_PER_USER, RuleConfig.of(mode));
    }

    @ParameterizedTest
    @CsvSource({"off,OFF", "false,OFF", "Audit,AUDIT"})
    void readsModesOfTheRuleThatOnlyReports(String text, RuleMode mode) throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_UNLISTED_PROCESSES", text)).rules())
                .containsEntry(KnownRules.UNLISTED_PROCESSES, RuleConfig.of(mode));
    }

    @ParameterizedTest
    @ValueSource(strings = {"enforce", "true"})
    void refusesToEnforceTheRuleThatOnlyReports(String text) {
        assertThatThrownBy(() -> read(Map.of("GENV_ENFORCER_UNLISTED_PROCESSES", text)))
                .hasMessageContaining("expected off or audit, because this rule only reports");
    }

    @Test
    void readsLimits() throws InvalidSettingsException {
        assertThat(read(Map.of(
                                "GENV_ENFORCER_MAX_DEVICES_PER_USER", "2",
                                "GENV_ENFORCER_MAX_DEVICES_FOR_USER", "john=3, paul=0  a=b=4"))
                        .rules())
                .containsEntry(
                        KnownRules.MAX_DEVICES_PER_USER,
                        new RuleConfig(RuleMode.ENFORCE, new Limits(2, Map.of("john", 3, "paul", 0, "a=b", 4))));
    }

    @Test
    void readsAnInvalidValueAsUnsetAfterItIsReported() {
        var variables = new Variables(Map.of("GENV_ENFORCER_ENV_OWNER", "maybe", "GENV_ENFORCER_ENV_MEMORY", " "));
        var errors = new SettingErrors(variables);

        assertThat(RuleSettings.read(variables, errors))
                .containsEntry(KnownRules.ENV_OWNER, RuleConfig.of(RuleMode.AUDIT))
                .containsEntry(KnownRules.ENV_MEMORY, RuleConfig.of(RuleMode.ENFORCE));
        assertThatThrownBy(errors::throwIfAny)
                .hasMessage("GENV_ENFORCER_ENV_OWNER=maybe: expected off, audit or enforce");
    }
}
