package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
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

            window.awaitText(
                    "#plan-result .result",
                    "Result for now: 1 violation, 1 termination, 1 detachment. The present policy: 0 violations");
            window.awaitText(
                    "#plan-result tr:has-text('%s'):has-text('sleep (pid %d), GPU 0')"
                            .formatted(CurrentProcess.name(), member.pid()),
                    "Terminated: max-devices-per-user");
            assertThat(window.page().locator("#settings")).hasValue("GENV_ENFORCER_MAX_DEVICES_PER_USER=0");
            client().awaitNext(client().observe());
            assertThat(member.isAlive()).isTrue();

            window.page().getByLabel("GPUs of single users").fill("nonsense");
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
            window.awaitText("#plan-result tr", "environment a, GPU 0");

            window.open("#/report");
            window.awaitText("#report tr", CurrentProcess.name());
            assertThat(window.page().locator("#report .chart > svg"))
                    .hasAttribute("aria-label", "Violations that began, by rule: max-devices-per-user 1");
            var download = window.page()
                    .waitForDownload(() -> window.link("GPU hours as CSV").click());
            assertThat(Files.readString(download.path()))
                    .startsWith("user,host,")
                    .contains(CurrentProcess.name());
            var week = window.page().url();
            window.link("This month").click();
            assertThat(window.link("This month")).hasAttribute("aria-current", "true");
            window.page().goBack();
            assertThat(window.page()).hasURL(week);
            assertThat(window.link("This week")).hasAttribute("aria-current", "true");
        }
    }
}
