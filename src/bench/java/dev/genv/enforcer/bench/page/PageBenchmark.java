package dev.genv.enforcer.bench.page;

import com.microsoft.playwright.Page;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.genv.enforcer.testsupport.browser.Chromium;
import dev.genv.enforcer.testsupport.browser.Window;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/**
 * Measures the time between frames of the page in a browser, with 100 hosts of 8 GPUs with 16 processes each, while data changes
 * every 5 seconds: at rest, while it scrolls, and while a person types into a filter.
 */
public final class PageBenchmark {
    private static final Path FILES = Path.of("src/main/resources/META-INF/resources");
    private static final int SECONDS = Integer.getInteger("seconds", 30);
    private static final int HOSTS = Integer.getInteger("hosts", 100);

    /** Records the time of each frame. */
    private static final String RECORD = """
        () => {
          cancelAnimationFrame(window.recording_ ?? 0);
          window.frames_ = [];
          let last = performance.now();
          const next = (now) => { window.frames_.push(now - last); last = now; window.recording_ = requestAnimationFrame(next); };
          window.recording_ = requestAnimationFrame(next);
        }\
        """;

    private static final String SCROLL = """
        () => {
          let direction = 25;
          window.scrolling_ = setInterval(() => {
            if (scrollY + innerHeight >= document.documentElement.scrollHeight - 2) direction = -25;
            if (scrollY === 0) direction = 25;
            scrollBy(0, direction);
          }, 16);
        }\
        """;

    private PageBenchmark() {}

    public static void main(String... arguments) throws IOException {
        var fleet = new LargeFleet(HOSTS, 8, 16);
        var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", exchange -> answer(exchange, fleet));
        server.start();
        try (var chromium = Chromium.start();
                var window = new Window(chromium, server.getAddress().getPort(), chromium.window())) {
            measure(window);
        } finally {
            server.stop(0);
        }
    }

    private static void measure(Window window) {
        var page = window.page();
        var begin = System.nanoTime();
        window.open("#/hosts");
        page.evaluate(RECORD);
        page.waitForFunction("count => document.querySelectorAll('.tile').length === count", 8 * HOSTS);
        System.out.printf(
                "%d hosts, %d GPUs: all shown after %.1f s, %d elements%n",
                HOSTS, 8 * HOSTS, (System.nanoTime() - begin) / 1e9, (int)
                        page.evaluate("document.querySelectorAll('*').length"));
        report("while it is filled", page);
        record("at rest", page);
        page.evaluate(SCROLL);
        record("while it scrolls", page);
        page.evaluate("clearInterval(window.scrolling_)");
        page.evaluate(RECORD);
        for (var text : List.of("gpu-0", "gpu-01", "user3", "")) {
            page.getByLabel("Host, GPU").fill(text);
            page.waitForTimeout(1000);
        }
        report("while a filter changes", page);
        window.open("#/violations");
        page.waitForSelector(".violation");
        page.evaluate(RECORD);
        record("violations at rest", page);
    }

    private static void record(String title, Page page) {
        page.evaluate("window.frames_.length = 0");
        page.waitForTimeout(1000.0 * SECONDS);
        report(title, page);
    }

    private static void report(String title, Page page) {
        var frames = ((List<?>) page.evaluate("window.frames_"))
                .stream()
                        .mapToDouble(frame -> ((Number) frame).doubleValue())
                        .sorted()
                        .toArray();
        System.out.printf(
                "%-24s %5d frames: median %5.1f ms, p95 %5.1f, p99 %5.1f, longest %6.1f; %.1f %% above 50 ms%n",
                title,
                frames.length,
                frames[frames.length / 2],
                frames[frames.length * 95 / 100],
                frames[frames.length * 99 / 100],
                frames[frames.length - 1],
                100.0 * Arrays.stream(frames).filter(frame -> frame > 50).count() / frames.length);
    }

    private static void answer(HttpExchange exchange, LargeFleet fleet) throws IOException {
        var path = exchange.getRequestURI().getPath();
        var types = Map.of("js", "text/javascript", "css", "text/css", "svg", "image/svg+xml", "html", "text/html");
        var file = FILES.resolve(path.equals("/") ? "index.html" : path.substring(1));
        byte[] body;
        if (Files.isRegularFile(file)) {
            var name = file.toString();
            exchange.getResponseHeaders().set("Content-Type", types.get(name.substring(name.lastIndexOf('.') + 1)));
            body = Files.readAllBytes(file);
        } else {
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            body = json(path, fleet).getBytes(StandardCharsets.UTF_8);
        }
        exchange.sendResponseHeaders(body.length == 0 ? 404 : 200, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static String json(String path, LargeFleet fleet) {
        return switch (path) {
            case "/hosts" -> fleet.hosts();
            case "/snapshot" -> fleet.snapshot();
            case "/violations" -> fleet.violations();
            case "/policy" -> LargeFleet.policy();
            default -> "";
        };
    }
}
