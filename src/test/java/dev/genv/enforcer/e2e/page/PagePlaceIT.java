package dev.genv.enforcer.e2e.page;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import dev.genv.enforcer.testsupport.browser.Window;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A reader keeps the focus and the address while the data changes. */
@Tag("long")
class PagePlaceIT extends PageSuite {
    private static final Pattern ACTIVE = Pattern.compile("/violations\\?status=active");

    @Test
    void anUpdateOfTheStoryKeepsTheFocus() throws IOException {
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            var window = openViolation();
            var cycles = window.dialog().locator("dl > div").last();
            var before = cycles.textContent();
            var user = window.dialog().locator("dl a");
            user.focus();

            window.passUntil(() -> !cycles.textContent().equals(before));
            window.passAnswers(ACTIVE, 3);

            assertThat(user).isFocused();
        }
    }

    @Test
    void anUpdateOfTheListKeepsTheFocus() throws IOException {
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            startObservedService();
            for (var link : Map.of("#/violations", ".violation .facts a", "#/hosts", ".tile .uses a")
                    .entrySet()) {
                var window = openWindow().withClock().open(link.getKey());
                var user = window.page().locator(link.getValue());
                user.focus();

                window.passAnswers(ACTIVE, 3);

                assertThat(user).isFocused();
            }
        }
    }

    @Test
    void theSkipLinkKeepsTheAddress() throws IOException {
        startObservedService();
        var window = openWindow().open("#/violations?status=active");
        var skip = window.link("Skip to the content");
        skip.focus();
        skip.press("Enter");
        assertThat(window.page().locator("main")).isFocused();
        assertThat(window.page()).hasURL(Pattern.compile("#/violations\\?status=active$"));

        window.open("#main");
        assertThat(window.heading()).hasText("Hosts");
        window.go("#other");
        assertThat(window.heading()).hasText("Hosts");
    }

    @Test
    void theStoryOfAnotherViolationTakesThePlaceOfTheFirst() throws IOException {
        node.set("MODE", "audit").set("MAX_DEVICES_PER_USER", 0);
        try (var shell = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            var window = openViolation();
            window.go("#/violations/unknown");
            window.awaitText("dialog .error", "does not know this violation");
            assertThat(window.dialog()).hasCount(1);

            window.go("#/hosts");

            assertThat(window.heading()).hasText("Hosts");
            assertThat(window.dialog()).hasCount(0);
        }
    }

    private Window openViolation() throws IOException {
        startObservedService();
        var id = client().json("/violations").path(0).path("id").asText();
        var window = openWindow().withClock().open("#/violations/" + id);
        window.awaitText("dialog .steps", "Seen");
        return window;
    }
}
