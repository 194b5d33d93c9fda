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

/** The page shows what is known, nothing else, and active violations first. */
@Tag("long")
class PageDataIT extends PageSuite {
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
}
