package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * Counts the cycles of a running service by its metrics.
 *
 * @param metrics their address
 */
record ServiceCycles(URI metrics) {
    private static final Pattern MANAGEMENT =
            Pattern.compile("Management interface listening on (http://127\\.0\\.0\\.1:[0-9]+)");
    private static final Pattern COUNT = Pattern.compile("(?m)^genv_enforcer_cycles_total\\S* ([0-9.E]+)$");

    /** Waits until the service prints its address to this file. */
    static ServiceCycles of(Path out) throws IOException {
        await().until(() -> MANAGEMENT.matcher(Files.readString(out)).find());
        var match = MANAGEMENT.matcher(Files.readString(out));
        if (!match.find()) {
            throw new IOException("the service prints no address");
        }
        return new ServiceCycles(URI.create(match.group(1) + "/q/metrics"));
    }

    int count() throws IOException, InterruptedException {
        try (var client = HttpClient.newHttpClient()) {
            var text = client.send(
                            HttpRequest.newBuilder(metrics).build(),
                            HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8))
                    .body();
            return (int) COUNT.matcher(text)
                    .results()
                    .mapToDouble(match -> Double.parseDouble(match.group(1)))
                    .sum();
        }
    }
}
