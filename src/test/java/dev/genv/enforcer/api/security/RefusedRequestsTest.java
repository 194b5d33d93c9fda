package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.testsupport.RawHttp;
import io.quarkus.test.junit.QuarkusTest;
import java.io.IOException;
import org.eclipse.microprofile.config.inject.ConfigProperty;
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

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /no/such/path||404",
                "OPTIONS /no/such/path||404",
                "GET /violations/4711||404",
                "GET /violations/4711/x||404",
                "POST /||404",
                "PUT /violations||405",
                "DELETE /hosts||405",
                "POST /users||405",
                "POST /users/raz||405",
                "GET /plan||405",
                "HEAD /plan/||405",
                "GET /violations|Accept: text/plain|406",
                "GET /report|Accept: text/html|406",
                "POST /plan|Content-Type: text/plain%nContent-Length: 2%n%n{}|415",
                "POST /plan|Content-Type: application/json%nContent-Length: 1%n%n{|400",
                "GET /violations?status=active&status=resolved||400"
            })
    void everyMistakeIsProblemJson(String request, String header, int status) throws IOException {
        assertProblem(port, request, header, status);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"GET /no/such/path||404", "GET /violations||404", "HEAD /no||404"})
    void theManagementPortAnswersInTheSameForm(String request, String header, int status) throws IOException {
        assertProblem(managementPort, request, header, status);
    }

    private static void assertProblem(int port, String request, String header, int status) throws IOException {
        var more = header == null ? "" : header.formatted();
        var end = more.contains("\n\n") ? "" : "\n\n";
        var answer = new RawHttp(port)
                .send((request.formatted() + " HTTP/1.1\nHost: localhost\nConnection: close\n" + more + end)
                        .replace("\n", "\r\n"));

        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        assertThat(answer.head()).containsIgnoringCase("content-type: application/problem+json");
        if (!request.startsWith("HEAD")) {
            var body = new ObjectMapper()
                    .readTree(answer.text().substring(answer.head().length()));
            assertThat(body.path("status").asInt()).isEqualTo(status);
            assertThat(body.path("title").asText()).isNotEmpty();
            assertThat(body.path("detail").asText())
                    .as("a text of the service; those of the framework begin with a capital letter")
                    .matches("[a-z].*");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /hosts HTTP/1.1|Host: localhost|200",
                "GET /hosts HTTP/1.1|Host: evil.example|421",
                "GET /nowhere HTTP/1.1|Host: evil.example|421",
                "POST /plan HTTP/1.1|Host: evil.example|421",
                "GET http://localhost/hosts HTTP/1.1|Host: evil.example|421",
                "GET http://10.0.0.7:8080/hosts HTTP/1.1|Host: localhost|200",
                "GET http://evil.example/hosts HTTP/1.1|Host: localhost|421",
                "GET http://evil.example HTTP/1.1|Host: localhost|421",
                "GET http://evil.example?x/hosts HTTP/1.1|Host: localhost|421",
                "GET http://localhost@evil.example/hosts HTTP/1.1|Host: localhost|421",
                "GET x://evil.example/hosts HTTP/1.1|Host: localhost|421",
                "GET http:///hosts HTTP/1.1|Host: localhost|421",
                "GET http://evil.example/hosts HTTP/1.0|X: x|421",
                "GET /hosts?x=http://evil.example/ HTTP/1.1|Host: localhost|200",
                "GET http://10.0.0.7/hosts HTTP/1.1|Host: localhost%nOrigin: http://10.0.0.7|200",
                "GET http://10.0.0.7/hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost:3000|403",
                "GET /hosts HTTP/1.1|Host: localhost%nHost: evil.example|400",
                "GET /hosts HTTP/1.1|Host: %s|421",
                "GET /hosts HTTP/1.1|X-Forwarded-Host: localhost|400",
                "GET /hosts HTTP/1.0|X: x|200",
                "GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost|200",
                "GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403",
                "GET /hosts HTTP/1.1|Host: localhost%nOrigin: http://localhost%nOrigin: http://evil.example|403",
                "GET /hosts HTTP/1.0|Origin: http://evil.example|403",
                "OPTIONS /plan HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403",
            })
    void refusesForeignHostsAndOrigins(String line, String headers, int status) throws IOException {
        var answer = send(port, line, headers);
        assertThat(answer.status()).isEqualTo(status);
        if (status >= 400) {
            assertThat(answer.head()).containsIgnoringCase("Content-Type: application/problem+json");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /q/metrics HTTP/1.1|Host: localhost|200",
                "GET /q/metrics HTTP/1.1|Host: evil.example|421",
                "GET /q/metrics HTTP/1.1|Host: localhost%nOrigin: http://evil.example|403",
                "GET http://evil.example/q/metrics HTTP/1.1|Host: localhost|421",
                "GET http://evil.example/q/health/live HTTP/1.1|Host: localhost|200",
                "GET /q/health/live HTTP/1.1|Host: evil.example|200",
                "GET /q/health/live HTTP/1.0|X: x|200",
            })
    void managementPortAnswersOnlyHealthForForeignHosts(String line, String headers, int status) throws IOException {
        assertThat(send(managementPort, line, headers).status()).isEqualTo(status);
    }

    private static RawHttp.Answer send(int port, String line, String headers) throws IOException {
        return new RawHttp(port)
                .send(line + "\r\n" + headers.replace("%n", "\r\n").replace("%s", "x".repeat(5000) + ".example")
                        + "\r\nConnection: close\r\n\r\n");
    }
}
