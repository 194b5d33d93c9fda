package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.testsupport.RawHttp;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every mistake in a request gets an answer in the form of all errors, which says what was wrong; and both ports refuse requests that a
 * page of another site sends through a user's browser.
 */
@QuarkusTest
@Tag("quarkus")
class RefusedRequestsTest {
    @ConfigProperty(name = "quarkus.http.port")
    int port;

    @ConfigProperty(name = "quarkus.management.port")
    int managementPort;

    /** The resources decide the details; the streams have a test of their own. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        GET /no/such/path                  |                          | | 404 |
        GET /violations/4711               |                          | | 404 | 4711
        GET /violations/4711/x             |                          | | 404 |
        POST /                             |                          | | 404 |
        PUT /violations                    |                          | | 405 |
        DELETE /hosts                      |                          | | 405 |
        POST /users                        |                          | | 405 |
        POST /users/raz                    |                          | | 405 |
        GET /plan                          |                          | | 405 |
        HEAD /plan/                        |                          | | 405 |
        GET /violations                    | Accept: text/plain       | | 406 |
        GET /report                        | Accept: text/html        | | 406 |
        POST /plan                         | Content-Type: text/plain | {} | 415 |
        GET /violations?status=active&status=resolved | | | 400 | parameter status is there more than once
        GET /violations?status=over        | | | 400 | parameter status
        GET /violations?rule=env_memory    | | | 400 | parameter rule
        GET /violations?since=tomorrow     | | | 400 | parameter since
        GET /violations?since=2026-11-20T09:30:00 | | | 400 | parameter since
        GET /violations?limit=0            | | | 400 | parameter limit
        GET /violations?limit=1001         | | | 400 | parameter limit
        GET /violations?limit=many         | | | 400 | parameter limit
        GET /violations?statu=active       | | | 400 | parameter statu
        GET /report?from=x                 | | | 400 | from
        GET /report?from=2026-11-31        | | | 400 | from
        GET /report?from=next-week         | | | 400 | last-week
        GET /report?table=usage            | | | 400 | only for format=csv
        GET /report?format=csv&table=hosts | | | 400 | usage or violations
        GET /report?to=x                   | | | 400 | to
        GET /report?format=xml             | | | 400 | format
        GET /report?from=2026-11-22T00:00:00Z&to=2026-11-21T00:00:00Z | | | 400 | before it begins
        POST /plan?since=2026-11-22T00:00:00Z         | | {} | 400 | parameter since is not known; this path has none
        POST /plan?since=                             | | {"snapshots": {}} | 400 | parameter since
        POST /plan | | []                                               | 400 | the body is not an object
        POST /plan | | null                                             | 400 | the body is not an object
        POST /plan | | {                                                | 400 | the body is not JSON
        POST /plan | | {"polcy": {}}                                    | 400 | "polcy"
        POST /plan | | {"policy": []}                                   | 400 | policy: expected keys with values
        POST /plan | | {"policy": null}                                 | 400 | policy: expected keys with values
        POST /plan | | {"policy": {"rules": {"env-device": "audit"}}}   | 400 | policy.rules.env-device: there is no such key
        POST /plan | | {"policy": {"rules": {"env-devices": 1}}}        | 400 | policy.rules.env-devices: expected off, audit or enforce
        POST /plan | | {"policy": {"max_devices": {"default": -1}}}     | 400 | policy.max_devices.default
        POST /plan | | {"policy": {"max_devices": {"default": 1.5}}}    | 400 | policy.max_devices.default
        POST /plan | | {"policy": {"max_devices": {"users": {"a": "x"}}}} | 400 | policy.max_devices.users.a
        POST /plan | | {"snapshots": []}                                | 400 | snapshots is not an object
        POST /plan | | {"snapshots": {"gpu-1": null}}                   | 400 | snapshots.gpu-1
        POST /plan | | {"snapshots": {"gpu-1": {}}}                     | 400 | snapshots.gpu-1
        """)
    void everyMistakeIsProblemJson(
            String request, @Nullable String header, @Nullable String body, int status, @Nullable String detail)
            throws IOException {
        var content = body == null ? "" : "Content-Type: application/json\r\nContent-Length: " + body.length();
        if (header != null) {
            content = body == null ? header : content.replaceFirst("^[^\r]+", header);
        }
        assertProblem(port, request + " HTTP/1.1\r\n" + content, body == null ? "" : body, status, detail);
    }

    @ParameterizedTest
    @CsvSource({"GET /no/such/path, 404", "GET /violations, 404", "HEAD /no, 404"})
    void theManagementPortAnswersInTheSameForm(String request, int status) throws IOException {
        assertProblem(managementPort, request + " HTTP/1.1", "", status, null);
    }

    private static void assertProblem(int port, String request, String content, int status, @Nullable String detail)
            throws IOException {
        var answer =
                new RawHttp(port).send(request.strip() + "\r\nHost: localhost\r\nConnection: close\r\n\r\n" + content);

        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        assertThat(answer.head()).containsIgnoringCase("content-type: application/problem+json");
        if (!request.startsWith("HEAD")) {
            var body = new ObjectMapper()
                    .readTree(answer.text().substring(answer.head().length()));
            assertThat(body.path("status").asInt()).isEqualTo(status);
            assertThat(body.path("title").asText()).isNotEmpty();
            assertThat(body.path("detail").asText())
                    .as("a text of the service; those of the framework begin with a capital letter")
                    .matches("(?s)[a-z\"].*")
                    .contains(detail == null ? "" : detail);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        GET /hosts HTTP/1.1|Host: localhost|200
        GET /hosts HTTP/1.1|Host: evil.example|421
        GET /nowhere HTTP/1.1|Host: evil.example|421
        POST /plan HTTP/1.1|Host: evil.example|421
        GET http://localhost/hosts HTTP/1.1|Host: evil.example|421
        GET http://10.0.0.7:8080/hosts HTTP/1.1|Host: localhost|200
        GET http://evil.example/hosts HTTP/1.1|Host: localhost|421
        GET http://evil.example HTTP/1.1|Host: localhost|421
        GET http://evil.example?x/hosts HTTP/1.1|Host: localhost|421
        GET http://localhost@evil.example/hosts HTTP/1.1|Host: localhost|421
        GET x://evil.example/hosts HTTP/1.1|Host: localhost|421
        GET http:///hosts HTTP/1.1|Host: localhost|421
        GET http://evil.example/hosts HTTP/1.0|X: x|421
        GET /hosts?x=http://evil.example/ HTTP/1.1|Host: localhost|200
        GET http://10.0.0.7/hosts HTTP/1.1|Host: localhost%nOrigin: http://10.0.0.7|200
        GET http://10.0.0.7/hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost:3000|403
        GET /hosts HTTP/1.1|Host: localhost%nHost: evil.example|400
        GET /hosts HTTP/1.1|Host: %s|421
        GET /hosts HTTP/1.1|X-Forwarded-Host: localhost|400
        GET /hosts HTTP/1.0|X: x|200
        GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost|200
        GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403
        GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost%nOrigin: http://evil.example|403
        GET /hosts HTTP/1.0|Origin: http://evil.example|403
        OPTIONS /plan HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403
        """)
    void refusesForeignHostsAndOrigins(String line, String headers, int status) throws IOException {
        var answer = send(port, line, headers);
        assertThat(answer.status()).isEqualTo(status);
        if (status >= 400) {
            assertThat(answer.head()).containsIgnoringCase("Content-Type: application/problem+json");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        GET /q/metrics HTTP/1.1|Host: localhost|200
        GET /q/metrics HTTP/1.1|Host: evil.example|421
        GET /q/metrics HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403
        GET http://evil.example/q/metrics HTTP/1.1|Host: localhost|421
        GET http://evil.example/q/health/live HTTP/1.1|Host: localhost|200
        GET /q/health/live HTTP/1.1|Host: evil.example|200
        GET /q/health/live HTTP/1.0|X: x|200
        """)
    void managementPortAnswersOnlyHealthForForeignHosts(String line, String headers, int status) throws IOException {
        assertThat(send(managementPort, line, headers).status()).isEqualTo(status);
    }

    private static RawHttp.Answer send(int port, String line, String headers) throws IOException {
        return new RawHttp(port)
                .send(line + "\r\n" + headers.replace("%n", "\r\n").replace("%s", "x".repeat(5000) + ".example")
                        + "\r\nConnection: close\r\n\r\n");
    }
}
