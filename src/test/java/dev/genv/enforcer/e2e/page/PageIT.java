package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The views of the page, over a service with real processes. */
class PageIT extends PageSuite {

    @Test
    void aViolationAppearsAndIsResolvedWithoutReloading() throws IOException {
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
        }
    }

    /** Only one of the two sources of violations answers. */
    @ParameterizedTest
    @ValueSource(strings = {"**/violations?*", "**/violations/stream"})
    void aViolationAppearsByTheStreamAndByPolling(String blocked) throws IOException {
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit");
        startObservedService();
        var window = openWindow();
        // A violation between the last poll and the begin of the stream would never be shown.
        window.page().waitForResponse("**/violations/stream", () -> window.open("#/violations"));
        window.awaitText("#summary", "0 violations");
        window.page().route(blocked, route -> route.fulfill(new Route.FulfillOptions().setStatus(404)));
        if (blocked.endsWith("stream")) {
            window.page().reload(); // the open stream is not blocked
        }

        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            window.awaitText(".violation", "Process %d is not running in a GPU environment".formatted(stray.pid()));
        }
    }

    @Test
    void aClickShowsWhatHappenedToTheProcess() throws IOException {
        node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "0s");
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            startService();
            stray.awaitExit();
            var window = openWindow().open("#/violations");
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
    void filtersShowSomeViolationsAndArePartOfTheAddress() throws IOException {
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            node.gpus.process(1, stray.pid(), "10");
            startService();
            var window = openWindow().open("#/violations");
            var list = window.page().locator(".violation");
            assertThat(list).hasCount(2);

            window.page().getByLabel("Rule").selectOption("max-devices-per-user");
            assertThat(list).hasCount(1);
            assertThat(list).containsText("more than the maximum allowed");
            assertThat(window.page().locator(".group h2")).containsText("More GPUs than a user may hold");
            assertThat(window.page().url()).endsWith("?rule=max-devices-per-user");
            window.page().getByLabel("Status").selectOption("resolved");
            assertThat(list).hasCount(0);

            var own = openWindow().open("#/violations?user=" + CurrentProcess.name());
            assertThat(own.page().locator(".violation")).hasCount(2);
            var other = openWindow().open("#/violations?user=nobody-else");
            other.awaitText("main", "0 violations");
            other.page().getByLabel("User").selectOption("");
            assertThat(other.page().locator(".violation")).hasCount(2);
        }
    }

    @Test
    void theAddressOfAUserShowsWhatTheUserHasAndWhatToDo() throws IOException {
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            startService();

            var window = openWindow().open("#/users/" + CurrentProcess.name());

            window.awaitText("main .facts", "Holds 1 of at most 0 GPUs");
            window.awaitText(".held", "gpu-1 · GPU 0 · environment a");
            window.awaitText(".violation", "more than the maximum allowed");
            window.awaitText("main", "detach this GPU with");
        }
    }

    /** The days of both zones are never the same. */
    @Test
    void thePeriodsOfTheReportHaveTheDaysOfTheService() throws IOException {
        var zone = ZoneId.of("Pacific/Kiritimati");
        node.variable("TZ", zone.getId());
        startService();
        var window = openWindow(options().setTimezoneId("Pacific/Niue"));
        var before = LocalDate.now(zone);

        window.open("#/report").link("Today").click();

        window.awaitText("#report", "Report of");
        assertThat(List.of(before, LocalDate.now(zone)))
                .extracting(day -> "#/report?from=%1$s&to=%1$s".formatted(day))
                .contains("#" + URI.create(window.page().url()).getFragment());
    }

    @Test
    void auditModeAndTroubleAreShownAboveEveryView() throws IOException {
        node.set("MODE", "audit");
        node.gpus.fault("exit 9");
        var service = startService();
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
}
