package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** A client of the HTTP API of a running service. */
public final class ServiceClient {
    /** The problems that the time limits of a reading cause on a slow machine. */
    public static final Set<String> TIME_LIMIT_CODES =
            Set.of("kernels_unknown", "lock_timeout", "membership_unknown", "state_timeout");

    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_ATTEMPTS = 10;
    private static final Duration POLL_INTERVAL = Duration.ofMillis(50);

    private final int port;
    private final int managementPort;

    public ServiceClient(Node.Service service) throws IOException {
        port = service.port();
        managementPort = service.managementPort();
        if (port == 0) {
            throw new IOException("The service is not there: " + service.outputLines());
        }
    }

    /** One observation of a host. */
    public record Observation(String time, String status, Set<String> problems) {
        /** That a limit of single users names no account is a note. */
        public boolean isHealthy() {
            return status.equals("ok") && Set.of("setting_user_unknown").containsAll(problems);
        }
    }

    public int port() {
        return port;
    }

    public int status(String path) throws IOException {
        return get(path).statusCode();
    }

    public JsonNode json(String path) throws IOException {
        return JSON.readTree(get(path).body());
    }

    /** Returns the body as it is. */
    public String text(String path) throws IOException {
        return get(path).body();
    }

    /** Posts JSON, and returns the body of the response. */
    public JsonNode post(String path, String json) throws IOException {
        var request = request(path)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(json));
        return JSON.readTree(send(request).body());
    }

    public Observation observe() throws IOException {
        return observe(json("/hosts").path(0));
    }

    /** Returns the metrics in Prometheus' format. */
    public String metrics() throws IOException {
        return get("/q/metrics").body();
    }

    /** Returns the last observation of a host; it is empty if there is none. */
    public Observation observe(String name) throws IOException {
        for (var host : json("/hosts")) {
            if (host.path("host").asText().equals(name)) {
                return observe(host);
            }
        }
        return new Observation("", "", new TreeSet<>());
    }

    private static Observation observe(JsonNode host) {
        return new Observation(
                host.path("last_observed").asText(),
                host.path("status").asText(),
                host.path("problems").findValuesAsText("code").stream()
                        .filter(code -> !code.equals("missing_privilege")) // a user other than root always lacks some
                        .collect(Collectors.toCollection(TreeSet::new)));
    }

    /** Waits until a violation shows what the next signal of a process waits for, and returns that. */
    public String awaitNextSignal(int pid) throws IOException {
        await().pollInterval(POLL_INTERVAL)
                .untilAsserted(() -> assertThat(nextSignal(pid))
                        .as("%s of %s", text("/violations"), text("/hosts"))
                        .isNotEmpty());
        return nextSignal(pid);
    }

    private String nextSignal(int pid) throws IOException {
        for (var violation : json("/violations?status=active")) {
            for (var next : violation.path("next")) {
                if (next.path("pid").asInt() == pid) {
                    return next.path("because").asText();
                }
            }
        }
        return "";
    }

    /** Waits for the next observation after this one. */
    public Observation awaitNext(Observation observation) {
        return await().pollInterval(POLL_INTERVAL)
                .until(
                        this::observe,
                        next -> !next.time().isEmpty() && !next.time().equals(observation.time()));
    }

    /** Waits for a complete observation without problems. */
    public void awaitHealthy() {
        await().pollInterval(POLL_INTERVAL).until(this::observe, Observation::isHealthy);
    }

    /** The same on the host of that name. */
    public void awaitHealthy(String name) {
        await().pollInterval(POLL_INTERVAL).until(() -> observe(name), Observation::isHealthy);
    }

    /** Waits for the first observation. */
    public void awaitObservation() {
        await().until(() -> !observe().time().isEmpty());
    }

    private int portOf(String path) {
        return path.startsWith("/q/health") || path.startsWith("/q/metrics") ? managementPort : port;
    }

    private HttpResponse<String> get(String path) throws IOException {
        return send(request(path));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + portOf(path) + path))
                .timeout(HANG);
    }

    /** The service closes a connection whose request arrives slowly. If the service has ended, the next connection is refused. */
    private static HttpResponse<String> send(HttpRequest.Builder request) throws IOException {
        for (var attempt = 1; ; attempt++) {
            try {
                return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
            } catch (ConnectException | HttpTimeoutException e) {
                throw e;
            } catch (IOException e) {
                if (attempt == MOST_ATTEMPTS) {
                    throw e;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }
}
