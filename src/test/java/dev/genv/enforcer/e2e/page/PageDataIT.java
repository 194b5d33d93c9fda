package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The page shows what is known, nothing else, and keeps a bounded part of it. */
@Tag("long")
class PageDataIT extends PageSuite {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Counts the listeners that wait for a change of the tab's visibility. */
    private static final String COUNT_LISTENERS = """
            window.visibilityListeners = 0;
            const add = document.addEventListener;
            document.addEventListener = function (type, listener, options) {
              if (type === 'visibilitychange') {
                window.visibilityListeners++;
                options?.signal?.addEventListener('abort', () => { window.visibilityListeners--; });
              }
              return add.call(this, type, listener, options);
            };
            """;

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
            window.go("#/hosts?trouble=true");
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
            node.gpus.process(0, member.pid(), "4096");
            startService();
            var window = openWindow().open("#/hosts");
            window.awaitText(".tile:nth-child(1)", "Attached: " + CurrentProcess.name() + " (a)");

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

    @Test
    void memoryOfProcessesThatAreNotListedHasTheirPids() throws IOException {
        startObservedService();
        var snapshot = (ObjectNode) client().json("/snapshot");
        var unlisted = JSON.readTree("""
                { "devices": [ { "index": 0, "gpu_memory": "2048mi" } ],
                  "processes": [ { "pid": 4711, "devices": [ 0, 1 ], "used_devices": [ 0 ] },
                                 { "pid": 4712, "devices": [ 0 ], "used_devices": [ ] } ] }
                """);
        ((ObjectNode) snapshot.get("gpu-1")).set("gpu_unlisted", unlisted);

        var window = openWindow().answer("**/snapshot", snapshot).open("#/hosts");

        window.awaitText(".tile:nth-child(1)", "2.0 GiB · pid 4711 ⚠ no listed process explains it");
    }

    @Test
    void aPageThatIsOpenForDaysDoesNotGrow() throws IOException {
        startObservedService();
        var window = openWindow();
        window.page().addInitScript(COUNT_LISTENERS);
        window.open("#/hosts");
        window.go("#/users/a");
        window.awaitText("h1", "User a");
        var listeners = window.page().evaluate("visibilityListeners");
        for (var i = 0; i < 5; i++) {
            window.go("#/violations");
            window.awaitText("h1", "Violations");
            window.go("#/users/" + i);
            window.awaitText("h1", "User " + i);
        }
        assertThat(window.page().evaluate("visibilityListeners")).isEqualTo(listeners);

        var kept = window.page().evaluate("""
                async () => {
                  const { withPolled, withStreamed } = await import('/page/data/violations.js');
                  for (let i = 0; i < 3000; i++) {
                    withStreamed([], { id: String(i), status: 'resolved' });
                    withStreamed([], { id: `active ${i}`, status: 'active' });
                  }
                  return withPolled(null, [], 0).length;
                }
                """);
        assertThat((Integer) kept).isBetween(1, 1000);
    }

    @Test
    void thePageWorksWithoutStorage() throws IOException {
        node.set("API_TOKEN_FILE", Files.writeString(directory.resolve("token"), "secret"));
        startService();
        var window = openWindow();
        window.page().addInitScript("""
                for (const storage of ['localStorage', 'sessionStorage']) {
                  Object.defineProperty(window, storage, { get() { throw new DOMException('blocked', 'SecurityError'); } });
                }
                """);
        window.open("#/hosts");
        window.page().locator("#token").fill("secret");
        window.page().keyboard().press("Enter");

        window.awaitText("h2", "gpu-1");
        window.button("Theme: system").click();
        assertThat(window.button("Theme: dark")).isVisible();
    }
}
