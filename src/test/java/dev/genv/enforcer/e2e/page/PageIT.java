package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The views of the page, over a service with real processes. A service that does not do its work, or does not answer, is shown above every
 * view, and the page shows what is known, nothing else.
 */
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
        var polling = openWindow().answer("**/events", 404, "text/plain", "");
        polling.open("#/violations").awaitText("#summary", "0 violations");
        var streaming = openWindow();
        // A violation between the last poll and the begin of the stream would never be shown.
        streaming.page().waitForResponse("**/events", () -> streaming.open("#/violations"));
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

    @Tag("long")
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
                    "Result: 1 violation, 1 termination, 1 detachment. The present policy: 0 violations");
            window.awaitText(
                    "#plan-result tr:has-text('%s'):has-text('sleep (pid %d), GPU 0')"
                            .formatted(CurrentProcess.name(), member.pid()),
                    "Terminated: max-devices-per-user");
            assertThat(window.page().locator("#file")).hasValue(Pattern.compile("max_devices:\n  default: 0\n"));
            client().awaitNext(client().observe());
            assertThat(member.isAlive()).isTrue();

            window.page().getByLabel("GPUs of single users").fill("nonsense");
            window.button("Show what it would do").click();
            window.awaitText("#plan-result .error", "“nonsense” is not a limit");
        }
    }

    @Tag("long")
    @Test
    void reportShowsTheRecordedPast() throws IOException {
        node.addDatabase();
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            startService();
            await().until(() -> !client().json("/report").path("usage").isEmpty());
            await().until(() -> !client().json("/report").path("timeline").isEmpty());
            var window = openWindow().open("#/report");
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

    private static final List<String> SOURCES =
            List.of("**/status", "**/policy", "**/hosts", "**/violations?*", "**/snapshot");

    @Tag("long")
    @Test
    void aCycleThatHangsIsShown() throws IOException {
        node.set("GPU_TIMEOUT", "1h");
        startObservedService();
        node.gpus.fault("while [ -e \"$0\" ]; do sleep 1; done"); // until the end of the test

        var window = openWindow().open("#/violations");

        assertThat(alerts(window)).containsText("No cycle has ended since");
        assertThat(alerts(window)).containsText("No rule is enforced");
        assertThat(connection(window)).hasText("no current cycle");
    }

    @Tag("long")
    @Test
    void aHostOnWhichTheServiceDoesNotDoAllItsWorkIsShown() throws IOException {
        startObservedService();
        var shown = Map.of(
                "second_enforcer read_only", "No actions: gpu-1",
                "lock_timeout nothing_detached", "No detachments: gpu-1",
                "termination_limit_reached terminations_wait", "Termination limit reached: gpu-1",
                "data_unwritable memory_only", "Database not in use: gpu-1",
                "notification_failed reported_only", "Messages not delivered: gpu-1",
                "data_damaged reported_only", "Database was damaged: gpu-1");
        var hosts = (ArrayNode) client().json("/hosts");
        var problems = (ArrayNode) hosts.get(0).path("problems");
        var window = openWindow();
        for (var each : shown.entrySet()) {
            var words = each.getKey().split(" ", -1);
            problems.removeAll()
                    .addObject()
                    .put("code", words[0])
                    .put("consequence", words[1])
                    .put("detail", "it is so");
            window.answer("**/hosts", hosts).open("#/violations");
            assertThat(alerts(window)).containsText(each.getValue());
        }
    }

    @Tag("long")
    @Test
    void aServiceWithoutCurrentAnswersIsShown() throws IOException {
        startObservedService();
        var window = openWindow().withClock().open("#/hosts");
        Map<String, Consumer<Route>> answers = Map.of(
                "too many clients",
                        route -> fulfill(route, 503, "application/problem+json", "{\"detail\":\"too many clients\"}"),
                "the answer cannot be read", route -> fulfill(route, 200, "text/html", "<title>Login</title>"),
                "HTTP status 502", route -> fulfill(route, 502, "text/html", "<title>Bad gateway</title>"),
                "the service does not answer", _ -> {});
        answers.forEach((reason, answer) -> {
            assertThat(connection(window)).hasText("live");
            SOURCES.forEach(source -> window.page().route(source, answer));
            window.passUntil(() -> alerts(window).textContent().contains("No current data: " + reason));
            assertThat(alerts(window)).containsText("the cycles, the policy, the hosts, the violations, the GPUs");
            assertThat(alerts(window)).containsText("What you see is from");
            assertThat(connection(window)).containsText("last answer");
            SOURCES.forEach(window.page()::unroute);
            window.passUntil(() -> connection(window).textContent().equals("live"));
            assertThat(alerts(window)).not().containsText("No current data");
        });
    }

    private static void fulfill(Route route, int status, String type, String body) {
        route.fulfill(new Route.FulfillOptions()
                .setStatus(status)
                .setContentType(type)
                .setBody(body));
    }

    private static Locator alerts(Window window) {
        return window.page().locator("#alerts");
    }

    private static Locator connection(Window window) {
        return window.page().locator("#connection");
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    @Tag("long")
    @Test
    void resolvedViolationsNeverTakeThePlaceOfActiveOnes() throws IOException {
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit");
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(1, stray.pid(), "10");
            startObservedService();
            var violation = (ObjectNode) client().json("/violations").get(0);
            var window = openWindow();
            window.answer("**/violations?status=resolved&limit=500", resolved(violation, 500));

            window.open("#/violations?status=active");
            window.awaitText("#summary", "1 violation, 1 active. Only the newest 500 resolved ones are here.");
            window.go("#/violations");
            assertThat(window.page().locator(".violation").first()).containsText("is not running in a GPU environment");
            window.go("#/hosts?show=violations");
            window.awaitText(".tile", "⚠ 1 active violation");
        }
    }

    private static ArrayNode resolved(ObjectNode like, int count) {
        var all = JSON.createArrayNode();
        for (var i = 0; i < count; i++) {
            all.add(like.deepCopy()
                    .put("id", "resolved-" + i)
                    .put("status", "resolved")
                    .put("first_seen", "2999-01-01T00:00:00Z"));
        }
        return all;
    }

    @Tag("long")
    @Test
    void jobsAreNotMarkedWhileTheStateCannotBeRead() throws IOException {
        node.set("MODE", "audit");
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "4096").process(1, member.pid(), "1024");
            startService();
            var window = openWindow().open("#/hosts");
            window.awaitText(".tile:nth-child(1)", "Attached: " + CurrentProcess.name() + " (a)");
            window.awaitText(".tile:nth-child(2)", "⚠ GPU not attached");

            for (var file : new String[] {"envs.json", "devices.json"}) {
                var path = node.stateDirectory.resolve(file);
                var content = Files.readString(path);
                Files.writeString(path, "{");
                window.awaitText(".tile:nth-child(1)", "⚠ environments or attachments not observed");
                window.awaitText(".tile:nth-child(1)", "Attachments not observed");
                Files.writeString(path, content);
                window.awaitText(".tile:nth-child(1)", "Attached: " + CurrentProcess.name() + " (a)");
            }
        }
    }
}
