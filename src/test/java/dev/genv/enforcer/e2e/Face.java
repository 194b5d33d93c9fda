package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;

/** What a running service shows over HTTP. */
final class Face {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final int port;
    private final int managementPort;

    Face(Node.Service service) throws IOException {
        port = service.port();
        managementPort = service.managementPort();
        if (port == 0) {
            throw new IOException("The service is not there: " + service.said());
        }
    }

    /** A host as one look saw it. */
    record Look(String at, String status, Set<String> problems) {
        boolean isGood() {
            return status.equals("ok") && problems.isEmpty();
        }
    }

    int status(String path) throws IOException {
        return get(path).statusCode();
    }

    JsonNode json(String path) throws IOException {
        return JSON.readTree(get(path).body());
    }

    Look look() throws IOException {
        return look(json("/hosts").path(0));
    }

    /** The host of that name; all is empty where there is none. */
    Look look(String name) throws IOException {
        for (var host : json("/hosts")) {
            if (host.path("host").asText().equals(name)) {
                return look(host);
            }
        }
        return new Look("", "", new TreeSet<>());
    }

    private static Look look(JsonNode host) {
        return new Look(
                host.path("last_observed").asText(),
                host.path("status").asText(),
                host.path("problems").findValuesAsText("code").stream()
                        .filter(code -> !code.equals("missing_privilege")) // an ordinary user lacks some all the time
                        .collect(Collectors.toCollection(TreeSet::new)));
    }

    /** Waits for the look that comes after that one. */
    Look after(Look look) {
        return after(look, this::look);
    }

    /** The same on the host of that name. */
    Look after(Look look, String name) {
        return after(look, () -> look(name));
    }

    private static Look after(Look look, Callable<Look> again) {
        var next = new AtomicReference<>(look);
        await().pollInterval(Duration.ofMillis(50)).until(() -> {
            next.set(again.call());
            return !next.get().at().isEmpty() && !next.get().at().equals(look.at());
        });
        return next.get();
    }

    /** Waits for a look that saw everything and had nothing to complain of. */
    void awaitGood() {
        awaitGood(HANG, this::look);
    }

    /** The same on the host of that name. */
    void awaitGood(Duration patience, String name) {
        awaitGood(patience, () -> look(name));
    }

    private static void awaitGood(Duration patience, Callable<Look> look) {
        await().atMost(patience)
                .pollInterval(Duration.ofMillis(50))
                .untilAsserted(() -> assertThat(look.call()).matches(Look::isGood));
    }

    /** Waits for the first observation. */
    void awaitObservation() {
        await().until(() -> !look().at().isEmpty());
    }

    private int portOf(String path) {
        return path.startsWith("/q/health") || path.startsWith("/q/metrics") ? managementPort : port;
    }

    private HttpResponse<String> get(String path) throws IOException {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + portOf(path) + path))
                .timeout(HANG)
                .build();
        try {
            return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }
}
