package dev.genv.enforcer.e2e.service;

import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The packaged service sends messages. */
class MessagesIT extends NodeSuite {
    private final int uid = UserTerminal.newUid();
    private static final ObjectMapper JSON = new ObjectMapper();

    private final GreenMail mailServer =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, "127.0.0.1", ServerSetup.PROTOCOL_SMTP)});

    @AfterEach
    void stopMailServer() {
        mailServer.stop();
    }

    @Test
    void userIsWarnedAndInformedOnTerminalAndByMailAndTheWebhookGetsEachEvent() throws Exception {
        Requirements.rootWithCapabilities();
        Requirements.program("/usr/bin/script", "bsdutils");
        mailServer.start();
        var addresses = Files.writeString(directory.resolve("addresses"), uid + "=raz@example.org\n");
        try (var receiver = new ScriptedReceiver(status(200));
                var terminal = UserTerminal.accepting(uid);
                var stray = Child.ofUser(uid)) {
            // Each observation waits for its turn, so the service acts only after the warnings were sent.
            var turn = directory.resolve("turn");
            node.gpus
                    .process(0, stray.pid(), "10")
                    .fault("case $1 in *compute-apps*) until rm %s 2>/dev/null; do sleep 0.1; done ;; esac"
                            .formatted(turn));
            node.set("NON_ENV_PROCESSES", "enforce")
                    .set("GRACE", "1s")
                    .set("GPU_TIMEOUT", "1h")
                    .set("TERMINAL_MESSAGES", "on")
                    .set("MAIL_HOST", "127.0.0.1")
                    .set("MAIL_PORT", mailServer.getSmtp().getPort())
                    .set("MAIL_TLS", "none")
                    .set("MAIL_FROM", "genv@gpu.example.org")
                    .set("MAIL_ADDRESS_FILE", addresses)
                    .set("MAIL_DELAY", "0s")
                    .set("WEBHOOK_URL", "http://127.0.0.1:%d/hook".formatted(receiver.port()));
            var service = new ServiceClient(node.startService());
            var observation = service.observe();
            do {
                Files.createFile(turn);
                observation = service.awaitNext(observation);
            } while (service.json("/violations").isEmpty());

            await().until(() -> mailServer.getReceivedMessages().length == 1
                    && terminal.screen().contains("The service will terminate it soon after "));
            node.gpus.noFault();
            Files.createFile(turn);
            await().until(() -> !stray.isAlive());
            node.gpus.gpus(3);
            await().until(() -> types(receiver).contains("dev.genv.enforcer.violation.resolved.v1"));

            assertThat(types(receiver))
                    .containsExactly(
                            "dev.genv.enforcer.violation.opened.v1",
                            "dev.genv.enforcer.violation.warned.v1",
                            "dev.genv.enforcer.violation.acted.v1",
                            "dev.genv.enforcer.violation.resolved.v1");
            var violation = service.json("/violations").path(0);
            assertThat(events(receiver))
                    .allSatisfy(
                            event -> assertThat(event.at("/data/violation/id")).isEqualTo(violation.path("id")));
            await().until(() -> mailServer.getReceivedMessages().length == 2);
            assertThat(mailServer
                            .getReceivedMessages()[0]
                            .getContent()
                            .toString()
                            .replaceAll("\\s+", " "))
                    .contains("Process %d (sleep, GPU 0 with 10 MiB, started ".formatted(stray.pid()))
                    .contains("The service will terminate it soon after ");
            assertThat(mailServer
                            .getReceivedMessages()[1]
                            .getContent()
                            .toString()
                            .replaceAll("\\s+", " "))
                    .contains("The service sent SIGTERM to process %d (sleep, GPU 0 with 10 MiB, started "
                            .formatted(stray.pid()));
            await().until(() -> terminal.screen().contains("The service sent SIGTERM to process " + stray.pid()));
        }
    }

    /** With the commands of operate.md. */
    @Test
    void receiverOfAnOwnAuthorityIsTrustedByADocumentedTrustStore() throws Exception {
        var block = Arrays.stream(Files.readString(Path.of("src/site/markdown/operate.md"))
                        .split("```", -1))
                .filter(each -> each.contains("keytool -importcert"))
                .findFirst()
                .orElseThrow();
        var java = Path.of(System.getProperty("java.home"), "bin");
        var openssl = "openssl req -x509 -nodes -newkey rsa:2048 ";
        var options = Programs.run("sh", "-ec", """
                cd '%s'
                exec 3>&1 >log 2>&1
                %s -subj /CN=ca -keyout ca.key -out ca.pem
                %s -subj /CN=x -addext subjectAltName=DNS:localhost -CA ca.pem -CAkey ca.key -keyout key.pem -out cert.pem
                PATH=%s:$PATH
                %s
                printf %%s "$JAVA_OPTS" >&3
                """.formatted(directory, openssl, openssl, java, block));
        var received = new CompletableFuture<String>();
        var vertx = Vertx.vertx();
        try (var stray = Child.withEnvironment(Map.of())) {
            var files = new PemKeyCertOptions()
                    .addCertPath(directory.resolve("cert.pem").toString())
                    .addKeyPath(directory.resolve("key.pem").toString());
            var port = vertx.createHttpServer(
                            new HttpServerOptions().setSsl(true).setKeyCertOptions(files))
                    .requestHandler(request -> {
                        received.complete(request.path());
                        request.response().end();
                    })
                    .listen(0, "localhost")
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(HANG.toSeconds(), TimeUnit.SECONDS)
                    .actualPort();
            node.gpus.process(0, stray.pid(), "10");
            node.set("NON_ENV_PROCESSES", "audit")
                    .set("WEBHOOK_URL", "https://localhost:%d/hook".formatted(port))
                    .variable("JDK_JAVA_OPTIONS", options.replace("/path", directory.toString()))
                    .startService();

            assertThat(received.get(HANG.toSeconds(), TimeUnit.SECONDS)).isEqualTo("/hook");
        } finally {
            vertx.close();
        }
    }

    private static List<String> types(ScriptedReceiver receiver) throws IOException {
        return events(receiver).stream()
                .map(event -> event.path("type").asText())
                .toList();
    }

    private static List<JsonNode> events(ScriptedReceiver receiver) throws IOException {
        var events = JSON.createArrayNode();
        for (var request : receiver.requests()) {
            events.add(JSON.readTree(request.body()));
        }
        return StreamSupport.stream(events.spliterator(), false).toList();
    }
}
