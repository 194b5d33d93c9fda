package dev.genv.enforcer.testsupport.browser;

import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The browser of the machine, without a window, driven by Playwright. */
public final class Chromium implements AutoCloseable {
    /** With this property the tests fail on a machine without a browser. */
    private static final String REQUIRED = "tests.chromium.required";

    private final Playwright playwright;
    private final Browser browser;

    private Chromium(Path program) throws IOException {
        PlaywrightAssertions.setDefaultAssertionTimeout((double) TestTimeouts.HANG.toMillis());
        // Playwright would otherwise download browsers of its own.
        playwright = Playwright.create(
                new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")));
        var arguments = new ArrayList<>(List.of(
                "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"));
        if (CurrentProcess.isRoot()) {
            arguments.add("--no-sandbox"); // Chromium has no sandbox for root
        }
        browser = playwright
                .chromium()
                .launch(new BrowserType.LaunchOptions()
                        .setExecutablePath(program)
                        .setArgs(arguments));
    }

    /** Starts the browser, or skips the test on a machine without one. */
    public static Chromium start() throws IOException {
        var program = find();
        if (Boolean.getBoolean(REQUIRED)) {
            assertThat(program).as("a browser").isPresent();
        }
        Requirements.require(program.isPresent(), "chromium", "apt install chromium");
        return new Chromium(program.orElseThrow());
    }

    private static Optional<Path> find() {
        return Stream.of("/usr/bin/chromium", "/usr/bin/google-chrome")
                .map(Path::of)
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** A window with its own storage, in which nothing was opened before. */
    public Browser.NewContextOptions window() {
        return new Browser.NewContextOptions()
                .setViewportSize(1280, 800)
                .setLocale("en-GB")
                .setTimezoneId("UTC");
    }

    Browser browser() {
        return browser;
    }

    @Override
    public void close() {
        browser.close();
        playwright.close();
    }
}
