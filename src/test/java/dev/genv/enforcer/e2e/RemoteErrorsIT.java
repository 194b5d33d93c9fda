package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is made of a machine that cannot be reached: genv's {@code -e} and {@code -q}. */
class RemoteErrorsIT extends OnAnSshFleet {

    @Test
    void theServiceEndsOnAnErrorWhereThatIsWanted() throws Exception {
        var service = fleet.node.set("REMOTE_EXIT_ON_ERROR", "true").serve();
        var face = new Face(service);
        face.awaitGood(HANG, first.target());
        face.awaitGood(HANG, second.target());

        second.stop();

        assertThat(service.process().waitFor(HANG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(service.process().exitValue()).isEqualTo(1);
        assertThat(service.said())
                .anyMatch(line -> line.contains("Ending, for host %s could not be reached".formatted(second.target())));
    }

    @Test
    void theLogSaysNothingOfItWhereThatIsWanted() throws Exception {
        second.stop();
        var stray = stray(first);

        var service = fleet.node
                .set("REMOTE_QUIET", "true")
                .set("NON_ENV_PROCESSES", "true")
                .set("STATE_CHANGE_GRACE", "0s")
                .serve();

        awaitEnd(stray);
        var face = new Face(service);
        await().until(() -> face.look(second.target()).problems().contains("host_unreachable"));
        assertThat(service.said()).noneMatch(line -> line.contains("host_unreachable"));
    }
}
