package dev.genv.enforcer.testsupport.browser;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.awaitility.pollinterval.IterativePollInterval.iterative;

import com.fasterxml.jackson.databind.JsonNode;
import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Route;
import com.microsoft.playwright.options.AriaRole;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;

/** A window that shows the page of a service, and records what the page requests and what goes wrong in it. */
public final class Window implements AutoCloseable {
    private final String origin;
    private final BrowserContext context;
    private final Page page;
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final List<String> errors = new CopyOnWriteArrayList<>();
    /** Chromium gives requests up if another program, such as a container engine, adds or removes a network interface. */
    private volatile boolean networkChanged;

    /** Opens a window for the service on this port. */
    public Window(Chromium chromium, int port, Browser.NewContextOptions options) {
        this(chromium, "http://127.0.0.1:" + port, options);
    }

    /** Opens a window for the service at this origin, such as {@code http://127.0.0.1:8080}. */
    public Window(Chromium chromium, String origin, Browser.NewContextOptions options) {
        this.origin = origin;
        context = chromium.browser().newContext(options);
        context.setDefaultTimeout((double) TestTimeouts.HANG.toMillis());
        context.onRequest(request -> requests.add(request.url()));
        context.onRequestFailed(request -> {
            if (String.valueOf(request.failure()).contains("ERR_NETWORK_CHANGED")) {
                networkChanged = true;
            }
        });
        page = context.newPage();
        page.onPageError(errors::add);
        page.onConsoleMessage(message -> {
            // A browser reports each status above 399 itself.
            if (message.type().equals("error") && !message.text().startsWith("Failed to load resource")) {
                errors.add(message.text());
            }
        });
    }

    public Page page() {
        return page;
    }

    public BrowserContext context() {
        return context;
    }

    /** Opens a view, such as {@code #/violations}, as a new load of the page. */
    public Window open(String view) {
        do {
            networkChanged = false;
            page.navigate("about:blank"); // the address of another view alone would not load the page again
            page.navigate(origin + "/" + view);
        } while (networkChanged);
        heading().waitFor();
        return this;
    }

    /** Opens a view in the page that is shown. */
    public Window go(String view) {
        page.evaluate("view => { location.hash = view; }", view);
        return this;
    }

    /** Answers requests in place of the service, whose URL matches a glob of Playwright. */
    public Window answer(String glob, int status, String contentType, String body) {
        page.route(
                glob,
                route -> route.fulfill(new Route.FulfillOptions()
                        .setStatus(status)
                        .setContentType(contentType)
                        .setBody(body)));
        return this;
    }

    /** The same with JSON. */
    public Window answer(String glob, JsonNode json) {
        return answer(glob, 200, "application/json", json.toString());
    }

    /** Makes the time of the page pass by calls of {@link #pass} too; call it before the page is opened. */
    public Window withClock() {
        page.clock().install();
        return this;
    }

    /** Lets time pass in the page, so that its timers expire. */
    public void pass(Duration time) {
        page.clock().fastForward(time.toMillis());
    }

    /** Lets time pass until a condition is true: a few seconds at once, and ever more slowly, so that answers come between on any machine. */
    public void passUntil(BooleanSupplier condition) {
        var pauses = iterative(pause -> pause.multipliedBy(6).dividedBy(5), Duration.ofMillis(200));
        await().pollInSameThread().pollInterval(pauses).until(() -> {
            pass(Duration.ofSeconds(6));
            return condition.getAsBoolean();
        });
    }

    public Locator heading() {
        return page.locator("h1");
    }

    public Locator link(String text) {
        return page.getByRole(AriaRole.LINK, new Page.GetByRoleOptions().setName(text));
    }

    public Locator button(String text) {
        return page.getByRole(AriaRole.BUTTON, new Page.GetByRoleOptions().setName(text));
    }

    public Locator dialog() {
        return page.getByRole(AriaRole.DIALOG);
    }

    /** Waits until an element contains the text. */
    public void awaitText(String selector, String text) {
        page.locator(selector)
                .filter(new Locator.FilterOptions().setHasText(text))
                .first()
                .waitFor();
    }

    /** Checks that nothing has gone wrong in the page, and that it requested nothing of other origins. */
    public void verify() {
        assertThat(errors).isEmpty();
        assertThat(requests).isNotEmpty().allSatisfy(url -> assertThat(url).startsWith(origin + "/"));
    }

    @Override
    public void close() {
        if (!page.isClosed()) {
            page.navigate("about:blank"); // a request that a test answers would fail while the window closes
        }
        context.close();
    }
}
