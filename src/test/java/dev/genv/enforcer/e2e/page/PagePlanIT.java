package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.microsoft.playwright.Locator;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What another policy would do and would have done, and the report, on the page. */
@Tag("long")
class PagePlanIT extends PageSuite {
    private static final FileAttribute<Set<PosixFilePermission>> PRIVATE =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    @Test
    void whatIfShowsWhatAnotherPolicyWouldDoAndDoesNothing() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            startObservedService();
            var window = openWindow().open("#/plan");
            assertThat(window.page().getByLabel("env-devices")).isChecked();

            window.page().getByLabel("GPUs per user").fill("0");
            window.button("Show what it would do").click();

            window.awaitText("#plan-result .result", "Result for now: 1 violation, 1 termination, 1 detachment");
            window.awaitText("#plan-result", "terminate process " + member.pid());
            assertThat(window.page().locator("#plan-result table")).containsText(CurrentProcess.name());
            client().awaitNext(client().observe());
            assertThat(member.isAlive()).isTrue();

            window.page().getByLabel("Limits of single users").fill("nonsense");
            window.button("Show what it would do").click();
            window.awaitText("#plan-result .error", "“nonsense” is not a limit");
        }
    }

    @Test
    void whatIfAndReportShowTheRecordedPast() throws IOException {
        node.set("DATA_DIR", Files.createDirectory(directory.resolve("data"), PRIVATE))
                .set("MODE", "audit")
                .set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            startService();
            await().until(() -> !client().json("/report").path("usage").isEmpty());
            await().until(() -> !client().json("/report").path("timeline").isEmpty());
            var window = openWindow().open("#/plan");
            assertThat(window.page().getByLabel("env-devices")).isChecked();

            window.page().getByLabel("GPUs per user").fill("0");
            window.page().getByLabel("Apply to").selectOption("the last hour");
            window.button("Show what it would do").click();
            window.awaitText("#plan-result .result", "1 user, 1 termination, 1 detachment");
            assertThat(window.page().locator("#plan-result")).containsText("detach environment a from GPU 0");

            window.open("#/report");
            window.button("Show").click();
            assertThat(window.page().locator("#report")).containsText(CurrentProcess.name());
            assertThat(window.page().locator("#report .chart > svg"))
                    .hasAttribute("aria-label", "Violations that began, by rule: max-devices-per-user 1");
            var download = window.page()
                    .waitForDownload(() -> window.button("Download CSV").click());
            assertThat(Files.readString(download.path()))
                    .startsWith("user,host,")
                    .contains(CurrentProcess.name());
        }
    }

    @Test
    void theAddressOfWhatIfShowsItsAnswer() throws IOException {
        node.set("MAX_DEVICES_PER_USER", 4).set("MODE", "audit");
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            startObservedService();
            var window = openWindow().open("#/plan");
            assertThat(window.page().getByLabel("env-devices")).isChecked();
            window.page().getByLabel("env-devices").uncheck();
            window.page().getByLabel("GPUs per user").fill("");
            window.page().getByLabel("Limits of single users").fill(CurrentProcess.name() + "=0");
            window.button("Show what it would do").click();
            window.awaitText("#plan-result .result", "Result for now: 1 violation");

            var other = openWindow().open(window.view());
            other.awaitText("#plan-result .result", "Result for now: 1 violation");
            assertThat(other.page().getByLabel("env-memory")).isChecked();
            assertThat(other.page().getByLabel("env-devices")).not().isChecked();
            assertThat(other.page().getByLabel("GPUs per user")).hasValue("");

            window.page().goBack();
            assertThat(window.page().getByLabel("env-devices")).isChecked();
            assertThat(window.page().getByLabel("GPUs per user")).hasValue("4");
            assertThat(window.page().locator("#plan-result .result")).hasText("");
        }
    }

    @Test
    void anInvalidPeriodInTheAddressIsAnError() throws IOException {
        startService();
        var window = openWindow().open("#/report?from=yesterday&to=2026-11-02");
        window.awaitText("#report .error", "The address has a value that is not valid here.");
    }

    @Test
    void limitsOfUsersHaveTheFormOfTheSetting() throws IOException {
        node.set("MAX_DEVICES_PER_USER", 4).set("MAX_DEVICES_FOR_USER", "ann=1");
        startObservedService();
        var window = openWindow().open("#/plan");
        var limits = window.page().getByLabel("Limits of single users");
        assertThat(limits).hasValue("ann=1");

        limits.fill("john=3 paul=2,\tann=1");
        var request = window.page()
                .waitForRequest(
                        "**/plan", () -> window.button("Show what it would do").click());

        assertThat(request.postData()).contains("{\"john\":3,\"paul\":2,\"ann\":1}");
    }

    @Test
    void aLimitThatIsNotEnforcedIsNotFilledIn() throws IOException {
        node.set("MAX_DEVICES_PER_USER", 4).set("MAX_DEVICES_PER_USER_MODE", "audit");
        startObservedService();
        var window = openWindow().open("#/plan");
        assertThat(window.page().getByLabel("env-devices")).isChecked();

        assertThat(window.page().getByLabel("GPUs per user")).hasValue("");
    }

    /** For example the login page of a proxy. */
    @Test
    void anAnswerThatIsNoJsonIsAnError() throws IOException {
        startObservedService();
        var window = openWindow();
        for (var path : List.of("**/plan", "**/report?*")) {
            window.answer(path, 200, "text/html", "<title>Login</title>");
        }
        window.open("#/plan");
        assertThat(window.page().getByLabel("env-devices")).isChecked();
        window.button("Show what it would do").click();
        window.awaitText("#plan-result .error", "the answer cannot be read");
        window.open("#/report");
        window.button("Show").click();
        window.awaitText("#report .error", "the answer cannot be read");
    }

    /** Users can name themselves like an instant. */
    @Test
    void namesInTheReportAreText() throws IOException {
        startService();
        var name = "2026-99-99T9Z";
        var window = openWindow().answer("**/report?*", 200, "application/json", """
                { "from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z", "recorded_since": "2026-11-01T00:00:00Z",
                  "events_recorded_since": "2026-11-01T06:00:00Z", "complete": false,
                  "hosts": [ { "host": "%1$s", "observed_hours": 1.5 } ], "usage": [ ],
                  "users": [ { "user": "%1$s", "violations": 1, "terminations": 0, "detachments": 0 } ], "rules": [ ], "timeline": [ ] }
                """.formatted(name));
        window.open("#/report");

        window.button("Show").click();

        assertThat(window.page().locator("#report tbody tr").filter(new Locator.FilterOptions().setHasText(name)))
                .hasCount(2);
        window.awaitText("#report .result", "Report of 1 user. A part of the period is missing");
        window.awaitText("#report .result", "Violations and actions before 1 Nov 2026, 06:00:00 are not recorded.");
        window.awaitText("#report dd", "1 Nov 2026, 00:00:00");
    }
}
