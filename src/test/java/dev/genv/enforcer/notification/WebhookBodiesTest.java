package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WebhookBodiesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Notice ACTED = acted(violationOf(process(812).uid(1003)));

    @Test
    void cloudEventHasTheViolationTheActionAndAText() throws IOException {
        var event = JSON.readTree(bodies(WebhookFormat.CLOUDEVENTS).of(ACTED));
        assertThat(event.properties().stream().map(Map.Entry::getKey))
                .containsExactly(
                        "specversion", "id", "source", "type", "time", "subject", "datacontenttype", "data", "text");
        assertThat(event.path("specversion").asText()).isEqualTo("1.0");
        assertThat(event.path("id").asText()).isEqualTo("id-1-7");
        assertThat(event.path("type").asText()).isEqualTo("dev.genv.enforcer.violation.acted.v1");
        assertThat(event.path("time").asText()).isEqualTo("2026-11-20T09:22:28Z");
        assertThat(event.at("/data/violation/id").asText()).isEqualTo("id-1");
        assertThat(event.at("/data/action/outcome").asText()).isEqualTo("signalled");
        assertThat(event.path("text").asText())
                .isEqualTo("gpu-1: terminate process 812 with SIGTERM, signalled, rule non-env-processes (enforce):"
                        + " `Process 812 is not running in a GPU environment`");
    }

    /** Users choose the length of a message, and many receivers refuse a larger body. */
    @Test
    void largeViolationIsReduced() throws IOException {
        var large = acted(violationOf(process(812)).message("x".repeat(WebhookBodies.LARGEST)));
        var bytes = bodies(WebhookFormat.CLOUDEVENTS).of(large);
        assertThat(bytes).hasSizeLessThan(4096);
        var event = JSON.readTree(bytes);
        assertThat(event.path("type").asText()).isEqualTo("dev.genv.enforcer.violation.acted.v1");
        assertThat(event.path("data")).isEqualTo(JSON.readTree("""
            {"violation": {"id": "id-1", "rule": "non-env-processes", "host": "gpu-1",
                           "status": "active", "mode": "enforce"},
             "reduced": true}\
            """));
        assertThat(event.path("text").asText()).startsWith("gpu-1: terminate process 812");
    }

    @Test
    void violationOfLessThan64KibIsComplete() throws IOException {
        var long64 = acted(violationOf(process(812)).message("x".repeat(WebhookBodies.LARGEST - 2_000)));
        var event = JSON.readTree(bodies(WebhookFormat.CLOUDEVENTS).of(long64));
        assertThat(event.at("/data/violation/message").asText()).hasSize(WebhookBodies.LARGEST - 2_000);
        assertThat(event.path("data").has("reduced")).isFalse();
    }

    private static Notice acted(ViolationBuilder violation) {
        return notice(action(violation, 812, Outcome.SIGNALLED)).orElseThrow();
    }

    private static WebhookBodies bodies(WebhookFormat format) {
        var view = new SomeFields();
        return new WebhookBodies(format, URI.create("urn:genv-enforcer:gpu-1"), JSON, view::violation, view::action);
    }

    @Test
    void manyMachinesAreCut() {
        var hosts =
                IntStream.range(0, 10_000).mapToObj(number -> "gpu-" + number).toArray(String[]::new);
        var text = WebhookBodies.chatText(
                notice(opened(violationOf(process(812)).hosts(hosts))).orElseThrow());
        assertThat(text).startsWith("gpu-0, gpu-1, ").hasSizeLessThan(500);
    }

    /** In Slack and Mattermost these would notify everybody, or show a link. */
    @Test
    void textOfUsersNotifiesNobody() {
        var evil = violationOf(process(812))
                .message("a`<!channel> <http://evil|x> & \u001b[1m\n@all " + "x".repeat(9_000));
        var text = WebhookBodies.chatText(notice(opened(evil)).orElseThrow());
        assertThat(text).doesNotContainPattern("[<>&\\p{Cntrl}]").hasSizeLessThan(500);
        assertThat(text.chars().filter(each -> each == '`'))
                .as("one code span around it")
                .hasSize(2);
        assertThat(text).endsWith("`");
    }
}
