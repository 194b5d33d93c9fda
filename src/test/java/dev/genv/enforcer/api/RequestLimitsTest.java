package dev.genv.enforcer.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.testsupport.RawHttp;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests above a limit are refused immediately, with a status code. */
@QuarkusTest
@Tag("quarkus")
class RequestLimitsTest {
    private static final int MANY_CHUNKS = 1 << 20;
    private static final String CHUNK = "400\r\n" + "x".repeat(0x400) + "\r\n";

    @ConfigProperty(name = "quarkus.http.port")
    int port;

    private RawHttp http;

    @BeforeEach
    void connect() {
        http = new RawHttp(port);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /hosts",
                "POST /hosts",
                "GET /no/such/path",
                "PUT /plan",
                "POST /plan/",
                "POST /q/health/live",
            })
    void refusesALargeBodyOfAnyRequestButPlan(String line) throws IOException {
        var declared = http.send(line + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
        assertThat(declared.status()).isEqualTo(413);
        assertThat(declared.head())
                .containsIgnoringCase("Content-Type: application/problem+json")
                .containsIgnoringCase("Connection: close");
        var chunked = line + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
        assertThat(http.send(chunked).status()).isEqualTo(411);
    }

    @ParameterizedTest
    @ValueSource(longs = {(32 << 20) + 1, 1L << 40, Long.MAX_VALUE})
    void refusesAPlanAboveTheMaximumSize(long length) throws IOException {
        assertThat(http.send(planRequest("Content-Length: " + length)).status()).isEqualTo(413);
    }

    @Test
    void disconnectsAClientThatKeepsSendingOrStops() throws IOException {
        var request = "GET /hosts HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
        assertThat(http.flood(request, CHUNK, MANY_CHUNKS).status()).isEqualTo(411);
        assertThat(http.flood(request, "", 0).status()).as("or sends nothing").isEqualTo(411);
        assertThat(http.flood(planRequest("Transfer-Encoding: chunked"), CHUNK, MANY_CHUNKS)
                        .status())
                .isEqualTo(411);
        assertThat(http.send(planRequest("Content-Length: 100") + "{").status())
                .as("a body that never arrives")
                .isIn(0, 400);
        var small = "GET /hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
        assertThat(http.send(small).status()).as("a small body is ignored").isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/plan/", "/plan;x=y", "//plan", "/./plan", "/%70lan"})
    void answersEverySpellingOfThePathWithoutAServerError(String path) throws IOException {
        var plan = planRequest("Content-Length: 31\r\nConnection: close").replace("/plan", path);
        assertThat(http.send(plan + "{\"policy\": {}, \"snapshots\": {}}").status())
                .isIn(200, 404);
    }

    /** But no plan: as many requests as may be computed at the same time wait for their bodies. */
    @Test
    void answersOtherRequestsWhileBodiesAreSlow() throws IOException {
        var open = new ArrayList<Socket>();
        try {
            for (var i = 0; i < 100; i++) {
                var socket = new Socket(InetAddress.getLoopbackAddress(), port);
                open.add(socket);
                var request = planRequest("Content-Length: 30000000") + "{";
                socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            }
            assertThat(http.get("/hosts").status()).isEqualTo(200);
        } finally {
            for (var socket : open) {
                socket.close();
            }
        }
        var plan = planRequest("Content-Length: 31\r\nConnection: close") + "{\"policy\": {}, \"snapshots\": {}}";
        await().atMost(Duration.ofMinutes(2)).until(() -> http.send(plan).status(), equalTo(200));
    }

    @Test
    void answersExpectContinue() throws IOException {
        var head = planRequest("Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close");
        assertThat(http.flood(head, "{}", 1).text()).startsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 ");
        var tooLarge = planRequest("Content-Length: 40000000\r\nExpect: 100-continue\r\nConnection: close");
        assertThat(http.send(tooLarge).status()).isEqualTo(413);
    }

    @Test
    void refusesLongRequestLinesAndHeaders() throws IOException {
        assertThat(http.get("/violations?user=" + "x".repeat(5000)).status()).isEqualTo(414);
        assertThat(http.get("/" + "x/".repeat(100_000)).status()).isEqualTo(414);
        assertThat(http.get("/hosts", "X-Long: " + "x".repeat(30_000)).status()).isEqualTo(431);
        assertThat(http.get("/hosts", "X-More: x\r\n".repeat(5_000) + "X: x").status())
                .isEqualTo(431);
        assertThat(http.flood("GET /hosts HTTP/1.1\r\n", "X-Endless: x\r\n", MANY_CHUNKS)
                        .status())
                .isEqualTo(431);
        assertThat(http.flood("GET /", "x", 16 * MANY_CHUNKS).status()).isEqualTo(414);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\r\n\r\n",
                "\u0000\r\n\r\n",
                "x\r\n\r\n",
                "GET\r\n\r\n",
                "GET /hosts\r\n\r\n",
                "GET /hosts HTTP/9.9\r\nConnection: close\r\n\r\n",
                "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /violations?user=%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /violations?user=%ff%fe%1b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /violations/%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /violations?%0d%0aX:y=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "GET /hosts HTTP/1.1\r\nHost: x\r\nA\u0000B: x\r\nConnection: close\r\n\r\n",
                "GET /hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\nno colon\r\n\r\n",
                "CONNECT here:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            })
    void invalidRequestsDoNotAffectOthers(String request) throws IOException {
        var answer = http.send(request + "GET /hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assertThat(answer.status()).isIn(0, 200, 400, 404, 405, 501, 505);
        assertThat(answer.head()).doesNotContain("Set-Cookie").doesNotContain("X:y");
        assertThat(http.get("/hosts").status()).isEqualTo(200);
    }

    private static String planRequest(String headers) {
        return "POST /plan HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers + "\r\n\r\n";
    }
}
