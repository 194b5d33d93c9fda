package dev.genv.enforcer.e2e.service;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.Suite;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** A file with the API token that its owner replaces by a pipe while the service reads it. */
class TokenFileIT extends NodeSuite {
    private static final int EXCHANGES = Suite.repetitions(5_000, 300_000);
    private static final String TOKEN = "correct-horse";

    @Test
    void healthAnswersWhileAPipeReplacesTheTokenFile() throws Exception {
        var path = directory.resolve("token");
        writeToken(path);
        node.set("API_TOKEN_FILE", path);
        var service = node.startService();
        var http = new RawHttp(service.port());
        var health = new RawHttp(service.managementPort());
        var clients = new Thread[4];
        for (var i = 0; i < clients.length; i++) {
            clients[i] = Thread.ofPlatform().daemon().start(() -> sendRequests(http));
        }

        var pipe = Fifo.at(directory.resolve("pipe"));
        for (var i = 0; i < EXCHANGES; i++) {
            Files.move(Files.createLink(directory.resolve("link"), pipe), path, ATOMIC_MOVE);
            writeToken(path);
        }
        for (var client : clients) {
            client.interrupt();
            client.join();
        }

        assertThat(health.get("/q/health/live").status()).isEqualTo(200);
        await().untilAsserted(() -> assertThat(
                        http.get("/hosts", "Authorization: Bearer " + TOKEN).status())
                .isEqualTo(200));
        Files.move(pipe, path, ATOMIC_MOVE);
        await().untilAsserted(() -> assertThat(
                        http.get("/hosts", "Authorization: Bearer " + TOKEN).status())
                .isEqualTo(503));
        await().until(() -> health.get("/q/health/ready").status() == 503);
        assertThat(health.get("/q/health/live").status()).isEqualTo(200);
        await().until(() ->
                service.outputLines().stream().anyMatch(line -> line.contains("The API refuses all requests")));
    }

    private void writeToken(Path path) throws IOException {
        Files.move(Files.writeString(directory.resolve("next"), TOKEN), path, ATOMIC_MOVE);
    }

    private static void sendRequests(RawHttp http) {
        while (!Thread.interrupted()) {
            try {
                http.get("/hosts");
            } catch (IOException e) {
                return; // the test checks the service afterwards
            }
        }
    }
}
