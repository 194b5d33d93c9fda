package dev.genv.enforcer.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.RawHttp;
import io.quarkus.test.junit.QuarkusTest;
import io.vertx.ext.web.Router;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An answer that is computed for longer than a connection may be idle. */
@QuarkusTest
@Tag("quarkus")
class SlowAnswerTest {
    private static final String PATH = "/test/slow-answer";

    @ConfigProperty(name = "quarkus.http.port")
    int port;

    @Singleton
    static class SlowRoute {
        void register(@Observes Router router) {
            router.get(PATH)
                    .handler(request -> request.vertx()
                            .setTimer(
                                    ClientConnection.HEAD_TIMEOUT.plusSeconds(2).toMillis(), _ -> request.end("done")));
        }
    }

    @Test
    void timeForComputingIsNotThatOfAnIdleConnection() throws Exception {
        var answer = new RawHttp(port).get(PATH);

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).endsWith("done");
    }
}
