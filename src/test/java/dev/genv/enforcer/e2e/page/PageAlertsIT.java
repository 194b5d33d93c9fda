package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Route;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A service that does not do its work, or does not answer, is shown above every view. The page shows what is known, nothing else, and
 * active violations first.
 */
@Tag("long")
class PageAlertsIT extends PageSuite {
    private static final List<String> SOURCES =
            List.of("**/status", "**/policy", "**/hosts", "**/violations?*", "**/snapshot");

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
