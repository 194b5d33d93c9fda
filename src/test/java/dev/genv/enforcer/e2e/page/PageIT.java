package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.net.URI;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The views of the page, over a service with real processes. */
class PageIT extends PageSuite {

    @Test
    void aViolationAppearsAndIsResolvedWithoutReloadingAndAClickShowsWhatHappened() throws IOException {
        node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "0s");
        startObservedService();
        var window = openWindow().open("#/violations");
        window.awaitText("#summary", "0 violations");
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            var message = "Process %d is not running in a GPU environment".formatted(stray.pid());
            window.awaitText(".violation", message);
            window.awaitText("#announcements", message);

            stray.awaitExit();
            window.awaitText(".violation.resolved .done", "Terminated");
            var link = window.page().locator(".violation.resolved a.message");
            link.click();

            window.awaitText("dialog h2", "Process outside all environments");
            assertThat(window.dialog().locator(".steps li strong"))
                    .hasText(new String[] {"Seen", "Asked to terminate", "Terminated", "Resolved"});
            assertThat(window.page().url()).contains("#/violations/");
            window.page().keyboard().press("Escape");
            assertThat(window.dialog()).hasCount(0);
            assertThat(link).isFocused();
            assertThat(window.page())
                    .hasURL(Pattern.compile("#/violations$")); // a closed dialog leaves its address later
        }
    }

    @Test
    void aViolationAppearsByTheStreamAndByPollingAndTroubleAboveEveryView() throws IOException {
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit");
        var service = startService();
        var polling = openWindow().answer("**/violations/stream", 404, "text/plain", "");
        polling.open("#/violations").awaitText("#summary", "0 violations");
        var streaming = openWindow();
        // A violation between the last poll and the begin of the stream would never be shown.
        streaming.page().waitForResponse("**/violations/stream", () -> streaming.open("#/violations"));
        streaming.awaitText("#summary", "0 violations");
        streaming.answer("**/violations?*", 404, "text/plain", "");
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            for (var window : List.of(polling, streaming)) {
                window.awaitText(".violation", "Process %d is not running in a GPU environment".formatted(stray.pid()));
            }
        }

        node.gpus.fault("exit 9");
        var window = openWindow().open("#/plan");
        assertThat(window.page().locator("#mode")).hasText("AUDIT");
        var alerts = window.page().locator("[role=alert]");
        assertThat(alerts).containsText("Audit mode: the service reports violations and takes no action");
        assertThat(alerts).containsText("Observed only in part: gpu-1");
        service.kill();
        assertThat(alerts).containsText("No current data: the service does not answer");
        assertThat(alerts.locator(".alert").filter(new Locator.FilterOptions().setHasText("Audit mode")))
                .hasCount(1);
    }

    /** The days of the zones of the service and of the browser are never the same. */
    @Test
    void filtersUsersAndPeriodsArePartOfTheAddress() throws IOException {
        var zone = ZoneId.of("Pacific/Kiritimati");
        node.variable("TZ", zone.getId())
                .set("MODE", "audit")
                .set("NON_ENV_PROCESSES", "audit")
                .set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            node.gpus.process(1, stray.pid(), "10");
            startService();
            var window = openWindow(options().setTimezoneId("Pacific/Niue")).open("#/violations");
            var list = window.page().locator(".violation");
            assertThat(list).hasCount(2);
            window.page().getByLabel("Rule").selectOption("max-devices-per-user");
            assertThat(list).hasCount(1);
            assertThat(list).containsText("more than the maximum allowed");
            assertThat(window.page().locator(".group h2")).containsText("More GPUs than a user may hold");
            assertThat(window.page().url()).endsWith("?rule=max-devices-per-user");
            window.page().getByLabel("Status").selectOption("resolved");
            assertThat(list).hasCount(0);

            window.open("#/violations?user=" + CurrentProcess.name());
            assertThat(list).hasCount(2);
            window.open("#/violations?user=nobody-else");
            window.awaitText("main", "0 violations");
            window.page().getByLabel("User").selectOption("");
            assertThat(list).hasCount(2);

            window.open("#/users/" + CurrentProcess.name());
            window.awaitText("main .facts", "Holds 1 of at most 0 GPUs");
            window.awaitText(".held", "gpu-1 · GPU 0 · environment a");
            window.awaitText(".violation", "more than the maximum allowed");
            window.awaitText("main", "detach this GPU with");

            var before = LocalDate.now(zone);
            window.open("#/report").link("Today").click();
            window.awaitText("#report", "Report of");
            assertThat(List.of(before, LocalDate.now(zone)))
                    .extracting(day -> "#/report?from=%1$s&to=%1$s".formatted(day))
                    .contains("#" + URI.create(window.page().url()).getFragment());
        }
    }
}
