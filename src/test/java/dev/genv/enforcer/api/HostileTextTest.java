package dev.genv.enforcer.api;

import static io.restassured.RestAssured.given;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateFiles;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import jakarta.inject.Inject;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The API returns text of users as text, and a browser never interprets it. */
@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class HostileTextTest {
    private static final String AUTHORIZATION = "Authorization: Bearer " + TokenProtectedNode.TOKEN;
    private static final String EVIL =
            "\u001b[31m\r\nSet-Cookie: x\u202e\u200f\u2028\u009b\u007f\"}\ud83d\ude00\ud800'</script>";
    private static final String LINE = EVIL.replace("\r\n", "").replace("\ud800", "");
    private static final String LONG = EVIL + "x".repeat(4096 - EVIL.length());

    @Inject
    Enforcer enforcer;

    @ConfigProperty(name = "quarkus.http.port")
    int port;

    @ConfigProperty(name = "quarkus.management.port")
    int managementPort;

    @Test
    void hostileTextIsEscapedAndTruncatedAndOnlyInBodies() throws IOException {
        var name = Files.createDirectories(TokenProtectedNode.FOLDER).resolve("\u001b[2J\nevil");
        Files.deleteIfExists(name);
        Files.createSymbolicLink(name, Path.of("/bin/sleep"));
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.running(List.of(name.toString(), "600"), Map.of());
                var guest = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "\u001b[1m\n" + "y".repeat(4000)))) {
            new StateFiles(TokenProtectedNode.STATE)
                    .env(LONG, 0, LONG, LONG, shell.pid())
                    .device(0, LONG)
                    .write();
            var gpus = new FakeNvidiaSmi(TokenProtectedNode.TOOLS).noProcesses().gpus(1);
            gpus.process(0, stray.pid(), "10").process(0, guest.pid(), "10");
            gpus.process(LINE, Integer.toString(stray.pid()), "10");
            gpus.process(LINE, "\u001b\u0007" + "z".repeat(100_000), "10");

            assertThat(enforcer.runCycle()).isPresent();

            for (var path : List.of("/violations", "/hosts", "/snapshot", "/violations/" + escaped(EVIL))) {
                var answer = new RawHttp(port).get(path, AUTHORIZATION);
                assertPrintableAscii(path, answer);
            }
            for (var path : List.of("/violations", "/hosts", "/snapshot")) {
                assertThat(new RawHttp(port).get(path, AUTHORIZATION).text())
                        .as(path)
                        .contains("\\u001b", "\\u009b");
            }
            assertThat(get("/hosts").path(0).path("problems"))
                    .isNotEmpty()
                    .allSatisfy(problem -> assertThat(problem.path("detail").asText())
                            .matches("[^\\p{Cntrl}]*")
                            .hasSizeLessThan(6_010));
            assertThat(get("/violations").findValuesAsText("command"))
                    .as("unchanged for whoever reads JSON")
                    .contains("\u001b[2J\nevil");
            assertThat(get("/violations").findValuesAsText("message"))
                    .isNotEmpty()
                    .allSatisfy(message ->
                            assertThat(message).matches("[^\\p{Cntrl}]*").hasSizeLessThan(2_000));
            for (var path : List.of("/q/health", "/q/health/ready", "/q/health/live")) {
                var answer = new RawHttp(managementPort).get(path, AUTHORIZATION);
                assertThat(answer.text()).as(path).doesNotContainPattern("[\\x00-\\x09\\x0b\\x0c\\x0e-\\x1f\\x7f]");
                assertThat(new String(answer.text().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8))
                        .as(path)
                        .doesNotContainPattern("[\\u0080-\\u009f\\u200b-\\u200f\\u2028-\\u202e]");
            }
        }
    }

    @Test
    void textOfAClientIsEscapedInErrors() throws IOException {
        await().until(() -> enforcer.runCycle().isPresent()); // before the first one ends, /users has 503
        for (var path : List.of(
                "/violations?status=" + escaped(EVIL),
                "/violations?" + escaped(EVIL) + "=1",
                "/violations?since=" + escaped(EVIL),
                "/" + escaped(EVIL),
                "/violations/" + escaped(EVIL),
                "/users/" + escaped(EVIL))) {
            var answer = new RawHttp(port).get(path, AUTHORIZATION);
            assertThat(answer.status()).as(path).isIn(400, 404);
            assertPrintableAscii(path, answer);
        }
        var body = "{\"" + "\\u001b\\u009b".repeat(2000) + "\": 1, \"\u001b\": 2}";
        var answer = new RawHttp(port)
                .send("POST /plan HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
                        + AUTHORIZATION + "\r\nContent-Length: " + body.length() + "\r\n\r\n" + body);
        assertThat(answer.status()).isEqualTo(400);
        assertPrintableAscii("/plan", answer);
        assertThat(answer.text()).hasSizeLessThan(10_000);
    }

    /** Users could fill the memory of the service through a label that they choose. */
    @Test
    void clientsCannotCreateMetricSeries() throws IOException {
        var http = new RawHttp(port);
        http.get("/attacker-was-here", AUTHORIZATION);
        http.get("/violations/attacker-was-here?attacker=1", AUTHORIZATION);
        http.get("/attacker-was-here/%zz", AUTHORIZATION);
        http.send("POST /attacker-was-here HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
        http.get("/attacker-has-no-token");
        var management = new RawHttp(managementPort);
        management.get("/q/health/attacker-was-here");
        management.get("/attacker-was-here");
        http.get("/hosts", AUTHORIZATION, "User-Agent: attacker", "Host: attacker");
        assertThat(management.get("/q/metrics", AUTHORIZATION).text())
                .contains("http_server_requests")
                .doesNotContain("attacker");
    }

    private static JsonNode get(String path) throws IOException {
        return new ObjectMapper()
                .readTree(given().header("Authorization", "Bearer " + TokenProtectedNode.TOKEN)
                        .get(path)
                        .asString());
    }

    private static void assertPrintableAscii(String path, RawHttp.Answer answer) {
        assertThat(answer.text()).as(path).matches("[\\r\\n -~]*");
        assertThat(answer.head()).as(path).doesNotContain("Cookie");
    }

    private static String escaped(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
