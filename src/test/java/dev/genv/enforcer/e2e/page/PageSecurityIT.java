package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What users named is text, the page loads only from its own service, and the token is asked for and kept in the tab. */
@Tag("long")
class PageSecurityIT extends PageSuite {
    private static final String TOKEN = "correct-horse.battery~staple";
    /** Not on the empty page, which has no storage. */
    private static final String RECORD_TITLES = """
        if (location.protocol === 'http:') {
          new MutationObserver(() => sessionStorage.setItem('titles', `${sessionStorage.getItem('titles')}\\n${document.title}`))
            .observe(document, { subtree: true, childList: true, characterData: true });
        }
        """;

    private static final List<String> HOSTILE = List.of(
            "<img src=x onerror=document.title='taken'>",
            "\"><script>document.title='taken'</script>",
            "javascript:document.title='taken'",
            "\u202egnitset\u202c\u2066",
            "\u001b[31m\u0000\ud800",
            "../../violations?limit=1#/plan",
            "__proto__",
            "x".repeat(10_000));

    @Test
    void whatUsersNamedIsText() throws IOException {
        node.set("MODE", "audit")
                .set("NON_ENV_PROCESSES", "audit")
                .set("INACTIVE_ENV_PROCESSES", "audit")
                .set("MAX_DEVICES_PER_USER", 0);
        var program = Files.createSymbolicLink(directory.resolve("<b>&lt;\u202e"), Path.of("/bin/sleep"));
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.running(List.of(program.toString(), "600"), Map.of());
                var guest = Child.inEnvironment("<svg onload=document.title='taken'>")) {
            node.gpus.gpus(HOSTILE.size());
            for (var i = 0; i < HOSTILE.size(); i++) {
                var name = HOSTILE.get(i);
                node.state.env(name, 54_003 + i, name, null, shell.pid()).device(i, name);
            }
            node.state.write();
            node.gpus.process(0, stray.pid(), "10").process(1, guest.pid(), "10");
            startObservedService();
            var window = openWindow();
            window.page().addInitScript(RECORD_TITLES); // each view sets another one
            window.open("#/hosts");
            window.awaitText(".tile", HOSTILE.getFirst());
            window.awaitText(".tile", "\\u{202e}gnitset");
            for (var view : List.of("violations", "plan", "report", "users/" + "%3Cimg src=x%3E", "users/%", "%zz")) {
                window.open("#/" + view);
            }
            showPlanAndReport(window);
            window.open("#/violations");
            var links = window.page().locator(".violation a.message");
            assertThat(links.first()).isVisible();
            for (var i = 0; i < links.count(); i++) {
                links.nth(i).click();
                assertThat(window.dialog().locator(".steps")).containsText("Seen");
                window.page().keyboard().press("Escape");
                assertThat(window.dialog()).hasCount(0);
            }
            var userLinks = window.page().locator(".group h2 a");
            assertThat(userLinks.first()).isVisible();
            for (var i = 0; i < userLinks.count(); i++) {
                userLinks.nth(i).click();
                assertThat(window.heading()).containsText("User");
                window.page().goBack();
                assertThat(window.heading()).hasText("Violations");
            }

            assertThat(window.page().locator("img, iframe, script:not([src])")).hasCount(0);
            var titles = (String) window.page().evaluate("sessionStorage.getItem('titles')");
            assertThat(titles.split("\n"))
                    .contains("Violations · genv-enforcer")
                    .anyMatch(title -> title.startsWith("User <img"))
                    .doesNotContain("taken");
        }
    }

    private static void showPlanAndReport(Window window) {
        window.open("#/plan");
        assertThat(window.page().getByLabel("env-devices")).isChecked();
        window.page().getByLabel("non-env-processes").check();
        window.button("Show what it would do").click();
        window.awaitText("#plan-result td", "<b>&lt;");
        window.answer("**/report?*", report());
        window.open("#/report");
        window.awaitText("#report tbody th", HOSTILE.getFirst());
        assertThat(window.page().locator("#report .scroll tbody tr")).hasCount(HOSTILE.size());
    }

    private static ObjectNode report() {
        var report = new ObjectMapper().createObjectNode();
        report.put("complete", true).put("from", "2026-11-01T00:00:00Z").put("to", "2026-11-02T00:00:00Z");
        report.putNull("recorded_since").putNull("events_recorded_since");
        List.of("usage", "timeline", "rules", "hosts").forEach(report::putArray);
        var users = report.putArray("users");
        HOSTILE.forEach(name -> users.addObject().put("user", name).put("violations", 1));
        return report;
    }

    @Test
    void headersAllowOnlyThePagesOwnFiles() throws IOException {
        var http = new RawHttp(startService().port());
        for (var path : List.of("/", "/page/main.js", "/violations", "/hosts", "/no/such/path", "/page/none.js")) {
            assertThat(http.get(path).head())
                    .as(path)
                    .contains("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';")
                    .contains("require-trusted-types-for 'script'")
                    .contains("X-Content-Type-Options: nosniff")
                    .contains("Referrer-Policy: no-referrer")
                    .contains("Cross-Origin-Opener-Policy: same-origin")
                    .contains("Cross-Origin-Resource-Policy: same-origin");
        }
        assertThat(http.get("/page/main.js").head())
                .as("a browser asks for it at each load")
                .containsIgnoringCase("Cache-Control: no-cache");
        assertThat(http.get("/", "Host: example.org").status()).isIn(400, 421);
    }

    @Test
    void asksForTheTokenAndKeepsItInTheTab() throws IOException {
        node.set("API_TOKEN_FILE", Files.writeString(directory.resolve("token"), TOKEN))
                .set("MODE", "audit");
        startService();
        var window = openWindow().open("#/violations");
        var input =
                window.page().getByLabel("Token", new com.microsoft.playwright.Page.GetByLabelOptions().setExact(true));

        assertThat(input).isFocused();
        input.fill("wrong");
        window.button("Continue").click();
        window.awaitText("dialog .error", "The service refused this token");
        window.page().keyboard().press("Escape");
        window.awaitText("[role=alert]", "The service requires a token");
        window.awaitText("#summary", "The violations: not known.");
        window.page().evaluate("location.hash = '#/hosts'");
        window.awaitText(".counts", "active violations: not known");
        assertThat(window.page().locator(".counts").innerText())
                .as("no number stands for what was refused")
                .contains("GPUs: not known")
                .doesNotContainPattern("[0-9]");
        window.button("Enter the token").click();
        input.fill(TOKEN);
        window.page().keyboard().press("Enter");
        window.awaitText("#mode", "AUDIT");
        window.awaitText(".counts", "0 active violations");
        window.page().evaluate("location.hash = '#/violations'");
        window.awaitText("#summary", "0 active.");
        assertThat(window.page().locator("[role=alert]")).not().containsText("token");

        window.page().reload();
        window.awaitText("#mode", "AUDIT");
        assertThat(window.page().evaluate("JSON.stringify(localStorage) + document.cookie"))
                .asString()
                .doesNotContain(TOKEN);
        var other = openWindow().open("");
        assertThat(other.dialog()).isVisible();
    }
}
