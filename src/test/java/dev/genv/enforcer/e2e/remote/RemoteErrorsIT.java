package dev.genv.enforcer.e2e.remote;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.SshFleetSuite;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Unreachable machines with genv's {@code -e} and {@code -q}. */
@Tag("long")
class RemoteErrorsIT extends SshFleetSuite {

    @Test
    void exitOnErrorStopsTheServiceOnAnError() throws Exception {
        var service = fleet.node.set("REMOTE_EXIT_ON_ERROR", "true").startService();
        var serviceClient = new ServiceClient(service);
        serviceClient.awaitHealthy(HANG, first.target());
        serviceClient.awaitHealthy(HANG, second.target());

        second.stop();

        assertThat(service.process().waitFor(HANG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(service.process().exitValue()).isEqualTo(1);
        assertThat(service.outputLines())
                .anyMatch(line ->
                        line.contains("Exiting, because host %s could not be reached".formatted(second.target())));
    }

    @Test
    void quietModeOmitsRemoteErrorsFromTheLog() throws Exception {
        second.stop();
        var stray = startStray(first);

        var service = fleet.node
                .set("REMOTE_QUIET", "true")
                .set("NON_ENV_PROCESSES", "true")
                .set("GRACE", "0s")
                .startService();

        awaitExit(stray);
        var serviceClient = new ServiceClient(service);
        await().until(() -> serviceClient.observe(second.target()).problems().contains("host_unreachable"));
        assertThat(service.outputLines()).noneMatch(line -> line.contains("host_unreachable"));
    }
}
