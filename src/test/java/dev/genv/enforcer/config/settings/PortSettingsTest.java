package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PortSettingsTest {
    @ParameterizedTest
    @ValueSource(strings = {"QUARKUS_HTTP_PORT", "QUARKUS_MANAGEMENT_PORT"})
    void leavesAnExpressionToQuarkus(String name) {
        assertThatCode(() -> SettingsReader.read(new Variables(Map.of(name, "${PORT:8080}"))))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(strings = {"QUARKUS_HTTP_PORT", "QUARKUS_MANAGEMENT_PORT"})
    void refusesAnInvalidPort(String name) {
        var invalid = catchThrowableOfType(
                InvalidSettingsException.class, () -> SettingsReader.read(new Variables(Map.of(name, "$PORT"))));

        assertThat(invalid.lines()).containsExactly(name + "=$PORT: expected a port, 0 to 65535");
    }
}
