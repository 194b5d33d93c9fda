package dev.genv.enforcer.config.settings;

import static dev.genv.enforcer.config.settings.SettingsReading.errors;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.genv.enforcer.notification.MailDelivery.MailSender.Tls;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NotificationSettingsTest {
    private static final Map<String, String> MAIL =
            Map.of("MAIL_HOST", "mail.example.org", "MAIL_FROM", "gpu@example.org", "MAIL_TO", "{user}@example.org");

    @TempDir
    Path folder;

    @Test
    void nothingIsSentByDefault() throws Exception {
        var settings = SettingsReader.read(new Variables(Map.of())).notification();
        assertThat(settings.terminalMessages()).isFalse();
        assertThat(settings.auditMessages()).isFalse();
        assertThat(settings.mailHost()).isEmpty();
        assertThat(settings.webhookUrl()).isEmpty();
        assertThat(settings.webhookUrlFile()).isEmpty();
    }

    @Test
    void mailNeedsOnlyServerSenderAndRecipients() throws Exception {
        var settings = SettingsReader.read(new Variables(variables(MAIL))).notification();
        assertThat(settings.mailPort()).isEqualTo(587);
        assertThat(settings.mailTls()).isEqualTo(Tls.REQUIRED);
        assertThat(settings.mailDelay()).isEqualTo(Duration.ofSeconds(10));
        assertThat(settings.mailMaxPerHour()).isEqualTo(6);
    }

    @Test
    void addressOfTheWebhookMayBeInAFile() throws Exception {
        var file = Files.writeString(folder.resolve("url"), "https://hooks.example.org/s3cret\n");
        var settings = SettingsReader.read(new Variables(Map.of("GENV_ENFORCER_WEBHOOK_URL_FILE", file.toString())))
                .notification();
        assertThat(settings.webhookUrlFile().orElseThrow()).hasPath("/s3cret");
        assertThat(settings.webhookFormat()).isEqualTo(WebhookFormat.CLOUDEVENTS);
    }

    @ParameterizedTest
    @CsvSource({
        "TERMINAL_MESSAGES,maybe",
        "MAIL_HOST,a b",
        "MAIL_PORT,65536",
        "MAIL_TLS,maybe",
        "MAIL_FROM,gpu",
        "MAIL_FROM,GPU <gpu@example.org>",
        "MAIL_TO,user@example.org",
        "MAIL_TO,{user}",
        "MAIL_CC,'a@b.org,c@d.org'",
        "MAIL_DELAY,25h",
        "MAIL_MAX_PER_HOUR,0",
        "MAIL_MAX_PER_HOUR,61",
        "WEBHOOK_FORMAT,xml",
        "WEBHOOK_PLAIN_HTTP,perhaps"
    })
    void invalidValueIsReported(String name, String value) {
        var all = new HashMap<>(MAIL);
        all.put("WEBHOOK_URL", "https://hooks.example.org/");
        all.put(name, value);
        assertThat(errors(variables(all))).singleElement().asString().startsWith("GENV_ENFORCER_%s=".formatted(name));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hooks.example.org/s3cret",
                "ftp://hooks.example.org/s3cret",
                "https:///s3cret",
                "https://user:s3cret@hooks.example.org/",
                "https://hooks.example.org/s3cret#x",
                "http://hooks.example.org/s3cret",
                "https://hooks.example.org/ s3cret"
            })
    void invalidAddressOfTheWebhookIsReportedWithoutItsValue(String address) {
        assertThat(errors(Map.of("GENV_ENFORCER_WEBHOOK_URL", address)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_WEBHOOK_URL: expected")
                .doesNotContain("s3cret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"http://localhost:8000/", "http://127.0.0.1/", "http://[::1]:8000/x?y=1", "https://example.org"})
    void otherAddressesAreValid(String address) {
        assertValid(Map.of("GENV_ENFORCER_WEBHOOK_URL", address));
    }

    @Test
    void plainHttpOnOtherHostsMustBePermitted() {
        assertValid(Map.of(
                "GENV_ENFORCER_WEBHOOK_URL", "http://hooks.example.org/",
                "GENV_ENFORCER_WEBHOOK_PLAIN_HTTP", "true"));
    }

    @ParameterizedTest
    @CsvSource({
        "MAIL_FROM,gpu@example.org,has no effect without GENV_ENFORCER_MAIL_HOST",
        "WEBHOOK_FORMAT,text,has no effect without GENV_ENFORCER_WEBHOOK_URL",
        "AUDIT_MESSAGES,on,has no effect without GENV_ENFORCER_TERMINAL_MESSAGES"
    })
    void settingWithoutEffectIsReported(String name, String value, String reason) {
        assertThat(errors(Map.of("GENV_ENFORCER_" + name, value)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_%s=%s: %s".formatted(name, value, reason));
    }

    @Test
    void mailWithoutSenderOrRecipientsIsReported() {
        assertThat(errors(Map.of("GENV_ENFORCER_MAIL_HOST", "mail.example.org")))
                .extracting(line -> line.split("[=:]", 2)[0])
                .containsExactly("GENV_ENFORCER_MAIL_FROM", "GENV_ENFORCER_MAIL_TO");
    }

    @Test
    void loginNeedsUserPasswordAndTls() throws IOException {
        var password = Files.writeString(folder.resolve("password"), "s3cret").toString();
        var all = new HashMap<>(MAIL);
        all.put("MAIL_USER", "gpu");
        assertThat(errors(variables(all))).singleElement().asString().startsWith("GENV_ENFORCER_MAIL_PASSWORD_FILE");
        all.put("MAIL_PASSWORD_FILE", password);
        assertValid(variables(all));
        all.put("MAIL_TLS", "none");
        assertThat(errors(variables(all))).singleElement().asString().startsWith("GENV_ENFORCER_MAIL_TLS=none");
        all.remove("MAIL_USER");
        assertThat(errors(variables(all))).singleElement().asString().startsWith("GENV_ENFORCER_MAIL_USER");
    }

    @Test
    void singleCycleSendsNothing() {
        var all = new HashMap<>(MAIL);
        all.put("INTERVAL", "0");
        all.put("TERMINAL_MESSAGES", "on");
        assertThat(errors(variables(all)))
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).contains("a single cycle sends no messages"));
    }

    @Test
    void twoAddressesOfTheWebhookAreReported() throws IOException {
        var file = Files.writeString(folder.resolve("url"), "https://hooks.example.org/");
        assertThat(errors(Map.of(
                        "GENV_ENFORCER_WEBHOOK_URL",
                        "https://example.org/",
                        "GENV_ENFORCER_WEBHOOK_URL_FILE",
                        file.toString())))
                .containsExactly("GENV_ENFORCER_WEBHOOK_URL_FILE: expected to be unset with GENV_ENFORCER_WEBHOOK_URL");
    }

    @ParameterizedTest
    @ValueSource(strings = {"MAIL_PASSWORD_FILE", "WEBHOOK_SECRET_FILE", "WEBHOOK_URL_FILE"})
    void secretInsteadOfItsFileIsNotReported(String name) {
        assertThat(errors(Map.of("GENV_ENFORCER_" + name, "/s3cret")))
                .allSatisfy(line -> assertThat(line).doesNotContain("s3cret"))
                .anySatisfy(line -> assertThat(line).startsWith("GENV_ENFORCER_%s: expected a file".formatted(name)));
    }

    private static void assertValid(Map<String, String> variables) {
        assertThatCode(() -> SettingsReader.read(new Variables(variables))).doesNotThrowAnyException();
    }

    private static Map<String, String> variables(Map<String, String> names) {
        var variables = new HashMap<String, String>();
        names.forEach((name, value) -> variables.put("GENV_ENFORCER_" + name, value));
        return variables;
    }
}
