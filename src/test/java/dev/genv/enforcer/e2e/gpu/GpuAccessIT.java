package dev.genv.enforcer.e2e.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The packaged service in a container that may not use the GPUs. */
@Tag("long")
class GpuAccessIT extends NodeSuite {
    @Test
    void accessThatNeverWorkedDoesNotFailLiveness() throws IOException {
        node.gpus.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
        var client = new ServiceClient(node.startService());
        var seen = client.observe();
        for (var cycle = 0; cycle < 5; cycle++) {
            seen = client.awaitNext(seen);
            assertThat(seen.problems()).containsExactly("gpu_access_denied");
        }
        assertThat(client.status("/q/health/live")).isEqualTo(200);
        assertThat(client.status("/q/health/ready")).isEqualTo(503);
    }
}
