package dev.genv.enforcer.config.settings;

import static dev.genv.enforcer.config.settings.SettingsReading.errors;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An administrator may set a secret by mistake, where a file is expected or under a wrong name. The log must not contain it. */
class SecretSettingsTest {
    private static final String SECRET = "s3cret";

    @ParameterizedTest
    @CsvSource({
        "GENV_ENFORCER_API_TOKEN,GENV_ENFORCER_API_TOKEN_FILE",
        "GENV_ENFORCER_REMOTE_PASSPHRASE,GENV_ENFORCER_REMOTE_PASSPHRASE_FILE"
    })
    void unknownVariableIsReportedWithoutItsValue(String name, String nearest) {
        assertThat(errors(Map.of(name, SECRET)))
                .containsExactly("%s: there is no such setting; did you mean %s?".formatted(name, nearest));
    }

    @ParameterizedTest
    @CsvSource({"s3cret,expected an absolute path", "/s3cret,'expected a file with a token, and it cannot be read'"})
    void tokenInsteadOfItsFileIsNotReported(String token, String reason) {
        assertThat(errors(Map.of("GENV_ENFORCER_API_TOKEN_FILE", token)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_API_TOKEN_FILE: " + reason)
                .doesNotContain(SECRET);
    }

    @ParameterizedTest
    @CsvSource({"s3cret,expected an absolute path", "/s3cret,expected a file that can be read"})
    void passphraseInsteadOfItsFileIsNotReported(String passphrase, String reason) {
        assertThat(errors(Map.of("GENV_ENFORCER_REMOTE_PASSPHRASE_FILE", passphrase)))
                .containsExactly("GENV_ENFORCER_REMOTE_PASSPHRASE_FILE: " + reason);
    }

    @Test
    void settingThatContradictsAnotherIsReportedWithoutItsSecret() {
        assertThat(errors(Map.of("GENV_ENFORCER_REMOTE_PASSPHRASE_FILE", "/etc/passwd")))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_REMOTE_PASSPHRASE_FILE: has no effect without machines");
    }
}
