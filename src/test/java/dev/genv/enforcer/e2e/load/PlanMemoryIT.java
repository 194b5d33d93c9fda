package dev.genv.enforcer.e2e.load;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests for plans that would take all the memory, with the heap of the image, while cycles run. */
@Tag("long")
@Timeout(1800)
class PlanMemoryIT extends NodeSuite {
    private static final int CLIENTS = 4;
    /** A body that is too large is refused before its end. Then the client may see the end of the connection first. */
    private static final int DISCONNECTED = 0;

    private static final int MAX_BODY_LENGTH = 15 << 20;

    @Test
    void noPlanRequestExhaustsTheMemory() throws Exception {
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        var statuses = new TreeMap<String, List<Integer>>();
        try (var clients = Executors.newFixedThreadPool(CLIENTS)) {
            for (var shape : HostileBodies.all().entrySet()) {
                var before = serviceClient.observe();
                var answers = new ArrayList<Future<Integer>>();
                // Some are just small enough for an answer, others are always refused.
                for (var count = 4000; count <= 400_000; count = count * 3 / 2) {
                    var body = shape.getValue().apply(count);
                    if (body.length() > MAX_BODY_LENGTH) {
                        break;
                    }
                    answers.add(clients.submit(() -> post(service.port(), body)));
                }
                for (var answer : answers) {
                    statuses.computeIfAbsent(shape.getKey(), _ -> new ArrayList<>())
                            .add(answer.get());
                }
                assertThat(service.process().isAlive()).as("after %s", statuses).isTrue();
                serviceClient.awaitNext(before);
            }
        }
        System.out.printf("PlanMemoryIT: peak %d MiB; %s%n", service.peakMemory(), statuses);
        assertThat(statuses.values()).allSatisfy(all -> assertThat(all).isSubsetOf(200, 400, 413, DISCONNECTED));
        assertThat(service.peakMemory()).as("resident MiB at most").isLessThan(Node.memoryLimit());
        assertThat(serviceClient.status("/q/health/live")).isEqualTo(200);
    }

    private static int post(int port, String body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/plan"))
                .header("Content-Type", "application/json")
                .timeout(HANG)
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        while (true) { // JUnit's timeout ends it
            // The service may close a reused connection at the same moment.
            try (var http = HttpClient.newHttpClient()) {
                var status = http.send(request, HttpResponse.BodyHandlers.discarding())
                        .statusCode();
                if (status != 503) {
                    return status;
                }
            } catch (IOException e) {
                return DISCONNECTED;
            }
            Thread.sleep(100);
        }
    }
}
