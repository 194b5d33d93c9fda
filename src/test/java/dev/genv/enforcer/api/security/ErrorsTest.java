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

/** Every mistake in a request gets an answer in the form of all errors, which says what was wrong. */
@QuarkusTest
@Tag("quarkus")
class ErrorsTest {
    @ConfigProperty(name = "quarkus.http.port")
    int port;

    @ConfigProperty(name = "quarkus.management.port")
    int managementPort;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GET /no/such/path||404",
                "GET /violations/4711||404",
                "GET /violations/4711/x||404",
                "POST /||404",
                "PUT /violations||405",
                "POST /violations/stream||405",
                "PUT /events||405",
                "DELETE /hosts||405",
                "POST /users||405",
                "POST /users/raz||405",
                "GET /plan||405",
                "HEAD /plan/||405",
                "GET /violations|Accept: text/plain|406",
                "GET /violations/stream|Accept: application/json|406",
                "GET /report|Accept: text/html|406",
                "POST /plan|Content-Type: text/plain%nContent-Length: 2%n%n{}|415",
                "POST /plan|Content-Type: application/json%nContent-Length: 1%n%n{|400",
                "GET /violations?status=active&status=resolved||400",
                "GET /events|Last-Event-ID: 42|400",
                "GET /violations|Host: evil.example|400",
                "GET /violations|Origin: http://evil.example|403"
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
}
