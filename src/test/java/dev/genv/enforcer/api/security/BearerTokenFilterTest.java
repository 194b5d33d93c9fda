package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.api.TokenProtectedNode;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.linux.Programs;
import io.quarkus.test.junit.QuarkusTest;
import io.quarkus.test.junit.TestProfile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@QuarkusTest
@Tag("quarkus")
@TestProfile(TokenProtectedNode.class)
class BearerTokenFilterTest {
    private static final String AUTHORIZATION = "Authorization: Bearer " + TokenProtectedNode.TOKEN;

    @ConfigProperty(name = "quarkus.http.port")
    int port;

    @ConfigProperty(name = "quarkus.management.port")
    int managementPort;

    private RawHttp http;
    private RawHttp management;

    @BeforeEach
    void connect() {
        http = new RawHttp(port);
        management = new RawHttp(managementPort);
    }

    @AfterEach
    void restore() throws IOException {
        Files.deleteIfExists(TokenProtectedNode.TOKEN_FILE); // it can be a directory or a pipe of a test
        Files.writeString(TokenProtectedNode.TOKEN_FILE, TokenProtectedNode.TOKEN + "\n");
        awaitAnswer(200, AUTHORIZATION);
    }

    /** The file is read once a second. */
    private void awaitAnswer(int status, String... headers) {
        await().atMost(Duration.ofSeconds(30))
                .untilAsserted(
                        () -> assertThat(http.get("/hosts", headers).status()).isEqualTo(status));
    }

    static Stream<String> protectedPaths() {
        return Stream.of("""
            /violations /violations/x /hosts /snapshot /policy /status /events /violations/stream /q/metrics /q/openapi /q /no/such/path
            /q/swagger-ui /q/dev /plan /q/health;x /Q/HEALTH /index.htm /page/none.js /page/main.js;x /application.properties
            """.strip().split("\\s+"));
    }

    /** Also paths that do not exist. */
    @ParameterizedTest
    @MethodSource("protectedPaths")
    void refusesRequestsWithoutTheToken(String path) throws IOException {
        var answer = http.get(path);
        assertThat(answer.status()).isEqualTo(401);
        assertThat(answer.head())
                .containsIgnoringCase("WWW-Authenticate: Bearer")
                .containsIgnoringCase("Content-Type: application/problem+json")
                .containsIgnoringCase("Content-Security-Policy: default-src 'none';");
        assertThat(answer.text()).contains("\"status\": 401").doesNotContain(TokenProtectedNode.TOKEN);
    }

    @Test
    void acceptsRequestsWithTheToken() throws IOException {
        for (var path : List.of("/violations", "/hosts", "/snapshot", "/policy", "/status", "/q/openapi")) {
            assertThat(http.get(path, AUTHORIZATION).status()).as(path).isEqualTo(200);
        }
        assertThat(http.get("/events?last_event_id=x", AUTHORIZATION).status()).isEqualTo(400);
        assertThat(http.get("/violations/stream", AUTHORIZATION).status()).isEqualTo(301);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/q/metrics", "/q/metrics/", "/q/metrics/x", "/q", "/", "/q/health/../metrics", "/q//metrics"})
    void theManagementPortRefusesThemToo(String path) throws IOException {
        assertThat(management.get(path).status()).isEqualTo(401);
    }

    /** The files of the page. */
    @Test
    void filesNeedNoToken() throws IOException {
        var folder = Path.of("src/main/resources/META-INF/resources");
        try (var files = Files.walk(folder)) {
            for (var file : files.filter(Files::isRegularFile).toList()) {
                assertThat(http.get("/" + folder.relativize(file)).status())
                        .as("%s", file)
                        .isEqualTo(200);
            }
        }
        assertThat(http.get("/").status()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/q/health", "/q/health/", "/q/health/live", "/q/health/ready", "/q/health/started"})
    void healthNeedsNoToken(String path) throws IOException {
        assertThat(management.get(path).status()).isIn(200, 503);
        assertThat(management.get(path).text()).contains("\"checks\"");
    }

    static Stream<String> unusualPaths() {
        return Stream.of("""
            //q/health/../metrics /q/health/../metrics /q/health/live/../../metrics /q/health/%2e%2e/metrics /q/health/..%2fmetrics
            /q/health/%2e%2e%2f%2e%2e%2fviolations /q/health/..%252fmetrics /q/health/..%5cmetrics /q/health;/../metrics
            /q/health%00/../metrics /q/health//../metrics /q/health/live?/../../metrics /violations#/q/health /violations;/q/health
            /q/%6detrics http://localhost/q/metrics http://localhost/q/health/../metrics http://localhost/q/health@/../metrics
            /q/health/../../violations /% // /./ /page/ /page/../violations /page/%2e%2e/violations /page/../index.html /page/main.js/
            """.strip().split("\\s+"));
    }

    /** No spelling of a path gets past the token by looking like a path of health. */
    @ParameterizedTest
    @MethodSource("unusualPaths")
    void unusualPathsDoNotBypassTheToken(String target) throws IOException {
        var answer = http.get(target);
        assertThat(answer.status()).isIn(200, 400, 401, 404, 503);
        assertThat(answer.text())
                .as("neither metrics nor violations")
                .doesNotContain("jvm_memory")
                .doesNotContainPattern("\r\n\r\n\\[");
        if (answer.status() == 200 || answer.status() == 503) {
            assertThat(answer.text()).contains("\"checks\"");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Authorization: Bearer",
                "Authorization: Bearer ",
                "Authorization: Bearer x",
                "Authorization: Bearer " + TokenProtectedNode.TOKEN + "x",
                "Authorization: Bearer correct-horse.battery~stapl",
                "Authorization: Bearer " + TokenProtectedNode.TOKEN + " x",
                "Authorization: Basic " + TokenProtectedNode.TOKEN,
                "Authorization: " + TokenProtectedNode.TOKEN,
                "Authorization: Bearer" + TokenProtectedNode.TOKEN,
                "Authorization: Bearer x\r\nAuthorization: Bearer " + TokenProtectedNode.TOKEN,
                "Proxy-Authorization: Bearer " + TokenProtectedNode.TOKEN,
                "X-HTTP-Method-Override: GET",
                "X-Forwarded-Prefix: /q/health",
                "X-Original-URL: /q/health",
            })
    void refusesOtherAuthorizationHeaders(String header) throws IOException {
        assertThat(http.get("/hosts", header).status()).isEqualTo(401);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Authorization: bearer %s", "authorization: BEARER   %s  "})
    void acceptsEveryValidNotationOfTheHeader(String header) throws IOException {
        assertThat(http.get("/hosts", header.formatted(TokenProtectedNode.TOKEN))
                        .status())
                .isEqualTo(200);
    }

    @Test
    void refusesEveryMethodWithoutTheToken() throws IOException {
        for (var method : new String[] {"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"}) {
            assertThat(http.send(method + " /hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                            .status())
                    .as(method)
                    .isIn(400, 401, 501);
        }
    }

    /** A client that sends neither the token nor its whole body must not keep the connection. */
    @Test
    void answersWithoutWaitingForTheBody() throws IOException {
        var answer = http.send(
                "POST /plan HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{");
        assertThat(answer.status()).isEqualTo(401);
        assertThat(answer.head()).containsIgnoringCase("Connection: close");
    }

    @Test
    void acceptsOnlyTheNewTokenAfterAChange() throws IOException {
        Files.writeString(TokenProtectedNode.TOKEN_FILE, "another-token");
        awaitAnswer(200, "Authorization: Bearer another-token");
        assertThat(http.get("/hosts", AUTHORIZATION).status()).isEqualTo(401);
    }

    /** A pipe would block its reader. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void refusesAllRequestsWhileTheTokenFileIsMissingOrAPipe(boolean isPipe) throws Exception {
        Files.delete(TokenProtectedNode.TOKEN_FILE);
        if (isPipe) {
            Programs.fifo(TokenProtectedNode.TOKEN_FILE);
        }
        awaitAnswer(503, AUTHORIZATION);
        assertThat(http.get("/hosts").text()).contains("the token cannot be read");
        assertThat(management.get("/q/health/live").status()).isEqualTo(200);
    }
}
