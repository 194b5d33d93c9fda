package dev.genv.enforcer.e2e.page;

import com.microsoft.playwright.Browser;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.browser.Chromium;
import dev.genv.enforcer.testsupport.browser.Window;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Tests of the page in a browser, each with its own service and its own window. */
@TestInstance(Lifecycle.PER_CLASS)
abstract class PageSuite extends NodeSuite {
    private final List<Window> windows = new ArrayList<>();
    private Chromium chromium;
    private Node.Service service;

    @BeforeAll
    void startBrowser() throws IOException {
        chromium = Chromium.start();
    }

    @AfterAll
    void stopBrowser() {
        if (chromium != null) { // the requirement may be missing
            chromium.close();
        }
    }

    /** Every test verifies what its windows have recorded. */
    @AfterEach
    void closeWindows() {
        try {
            windows.forEach(Window::verify);
        } finally {
            windows.forEach(Window::close);
            windows.clear();
        }
    }

    /** Starts the service and waits for its first observation. */
    Node.Service startService() throws IOException {
        service = node.startService();
        if (service.port() == 0) {
            throw new IOException("The service is not there: " + service.outputLines());
        }
        return service;
    }

    void startObservedService() throws IOException {
        startService();
        client().awaitObservation();
    }

    ServiceClient client() throws IOException {
        return new ServiceClient(service);
    }

    Browser.NewContextOptions options() {
        return chromium.window();
    }

    Window openWindow() throws IOException {
        return openWindow(options());
    }

    Window openWindow(Browser.NewContextOptions options) throws IOException {
        return opened(new Window(chromium, service.port(), options));
    }

    Window openWindow(String origin, Browser.NewContextOptions options) {
        return opened(new Window(chromium, origin, options));
    }

    private Window opened(Window window) {
        windows.add(window);
        return window;
    }
}
