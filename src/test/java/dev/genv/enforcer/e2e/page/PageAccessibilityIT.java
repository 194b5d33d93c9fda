package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.options.ColorScheme;
import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Year;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The page with a keyboard alone, in both themes, on a phone, and for a screen reader. */
@Tag("long")
class PageAccessibilityIT extends PageSuite {
    /** Each view, and a text of what it shows when it has its data. */
    private static final Map<String, String> VIEWS = Map.of(
            "#/hosts",
            "outside all environments",
            "#/violations",
            "is not running in a GPU environment",
            "#/users/" + CurrentProcess.name(),
            "over its capacity of",
            "#/plan",
            "env-devices",
            "#/rules",
            "env-devices",
            "#/report",
            "GPU hours as CSV",
            "#/users",
            CurrentProcess.name());

    /** What makes a page hard to read: small text, parts of it to the right of the window, a header of two rows, broken words. */
    private static final String UNREADABLE = """
        () => {
          const found = new Set();
          const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            const { currentNode: node, currentNode: { parentElement: parent } } = texts;
            if (!parent.checkVisibility()) continue;
            if (node.data.trim() && parseFloat(getComputedStyle(parent).fontSize) < 12) found.add(`small: ${node.data}`);
            for (const word of node.data.matchAll(/[\\p{L}\\p{N}]{1,24}(?![\\p{L}\\p{N}])/gu)) {
              const range = new Range();
              range.setStart(node, word.index);
              range.setEnd(node, word.index + word[0].length);
              if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.add(`broken: ${word[0]}`);
            }
          }
          if (document.documentElement.scrollWidth > innerWidth) found.add(`wide: ${document.documentElement.scrollWidth}`);
          if (document.querySelector('header').offsetHeight > 64) found.add('a header of two rows');
          return [...found];
        }\
        """;

    @ParameterizedTest
    @CsvSource({"LIGHT, 1280", "DARK, 375"})
    void everyViewIsReadable(ColorScheme scheme, int width) throws Exception {
        withViolations(() -> {
            var window = openWindow(options().setColorScheme(scheme).setViewportSize(width, 800));
            window.context().addInitScript(axe());
            forEachView(window, PageAccessibilityIT::check);
        });
    }

    @Test
    void everythingCanBeReachedWithTheKeyboard() throws Exception {
        withViolations(() -> {
            var window = openWindow().open("#/hosts");
            var keyboard = window.page().keyboard();
            window.awaitText(".tile", "outside all environments");

            keyboard.press("Tab");
            assertThat(window.link("Skip to the content")).isFocused();
            keyboard.press("Enter");
            assertThat(window.page().locator("main")).isFocused();
            tabTo(window, "a[href='#/violations']", "Shift+Tab");
            keyboard.press("Enter");
            assertThat(window.heading()).hasText("Violations");
            assertThat(window.heading()).isFocused();

            tabTo(window, "time", "Tab");
            assertThat((String) window.page().evaluate("getComputedStyle(document.activeElement, '::after').content"))
                    .as("the exact time")
                    .contains(Integer.toString(Year.now(ZoneOffset.UTC).getValue()));
            tabTo(window, "a.message", "Tab");
            assertThat((Boolean)
                            window.page().evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"))
                    .isTrue();
            keyboard.press("Enter");
            assertThat(window.dialog()).isVisible();
            for (var i = 0; i < 5; i++) { // the focus stays in the dialog, or in the browser's own controls
                keyboard.press("Tab");
                assertThat((Boolean) window.page()
                                .evaluate("document.activeElement === document.body ||"
                                        + " !!document.activeElement.closest('dialog')"))
                        .isTrue();
            }
            keyboard.press("Escape");
            assertThat(window.dialog()).hasCount(0);
            assertThat(window.page().locator("a.message").first()).isFocused();
        });
    }

    private interface Check {
        void run() throws Exception;
    }

    /** Runs a check while a node has violations of several rules, and problems. */
    private void withViolations(Check check) throws Exception {
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a");
                var stray = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell, "1000mi");
            node.gpus
                    .process(0, member.pid(), "4096")
                    .process(1, member.pid(), "1024")
                    .process(2, stray.pid(), "2048")
                    .process("GPU-unknown", Integer.toString(stray.pid()), "1");
            startObservedService();
            check.run();
        }
    }

    private static void forEachView(Window window, Consumer<Window> check) {
        VIEWS.forEach((view, text) -> {
            window.open(view);
            window.awaitText("main", text);
            check.accept(window);
        });
        showResults(window, check);
        window.open("#/violations");
        window.page().locator("a.message").first().click();
        window.awaitText("dialog .steps", "Seen");
        check.accept(window);
    }

    /** What another policy would do, and the report with its timeline as a chart and as a table. */
    private static void showResults(Window window, Consumer<Window> check) {
        window.open("#/plan?env-devices=on&max-devices-per-user=0");
        window.awaitText("#plan-result", "violation");
        check.accept(window);
        window.answer("**/report?*", 200, "application/json", """
            { "from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z", "recorded_since": null, "events_recorded_since": null, "complete": true,
              "hosts": [ { "host": "gpu-1", "observed_hours": 1.5 } ],
              "usage": [ ], "rules": [ { "user": "raz", "rule": "env-memory", "violations": 1, "terminations": 0, "detachments": 0 } ],
              "users": [ { "user": "%s", "held_device_hours": 1.5, "present_device_hours": 0.5, "used_device_hours": 0.25, "idle_device_hours": 1.25,
                           "violations": 1, "terminations": 0, "detachments": 0 } ],
              "timeline": [ { "from": "2026-11-01T00:00:00Z", "rule": "env-memory", "violations": 1 } ] }
            """.formatted("long-name".repeat(40)));
        window.open("#/report");
        window.awaitText("#report .result", "Report of 1 user.");
        check.accept(window);
        window.page().locator("#report summary").click();
        assertThat(window.page().locator("#report details tbody tr").first()).isVisible();
        check.accept(window);
    }

    static void check(Window window) {
        var found = (List<?>) window.page().evaluate("""
            async () => (await axe.run({ resultTypes: ['violations'] })).violations.map(
                ({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; '))
            """);
        assertThat(found).as(window.page().url()).isEmpty();
        assertThat((List<?>) window.page().evaluate(UNREADABLE))
                .as(window.page().url())
                .isEmpty();
    }

    /** Presses a key until an element has the focus. */
    private static void tabTo(Window window, String selector, String key) {
        for (var i = 0; i < 100; i++) {
            window.page().keyboard().press(key);
            if (Boolean.TRUE.equals(
                    window.page().evaluate("selector => document.activeElement.matches(selector)", selector))) {
                return;
            }
        }
        throw new AssertionError("The key " + key + " does not reach " + selector);
    }

    static String axe() throws IOException {
        try (InputStream script = PageAccessibilityIT.class.getResourceAsStream("/axe.min.js")) {
            return new String(Objects.requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
