package dev.genv.enforcer.e2e.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.Exposition;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** genv's metrics of the packaged service. */
class GenvMetricsIT extends NodeSuite {
    private static final String TEMPERATURE = "genv_device_temperature{index=\"0\"}";
    private static final String UTILIZATION = "genv_device_utilization{index=\"0\"}";
    private static final String DEVICES_OF_A = "genv_environment_attached_devices_total{eid=\"a\"}";

    @Test
    void followTheMachine() throws IOException {
        node.gpus.status("0, 1700, 16384, 61, 87, [N/A], [N/A]\n1, 0, 16384, 35, 0, [N/A], [N/A]\n");
        var service = node.set("GENV_METRICS", "all").startService();
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            writeEnvironment(shell);
            node.gpus.process(0, job.pid(), "1542");
            var memory = "genv_process_used_gpu_memory_bytes{device=\"0\",eid=\"a\",pid=\"%d\"}".formatted(job.pid());
            await().untilAsserted(() -> assertThat(metrics(service))
                    .containsEntry(memory, 1542.0 * (1 << 20))
                    .containsEntry(TEMPERATURE, 61.0)
                    .containsEntry(UTILIZATION, 87.0)
                    .containsEntry("genv_device_memory_total_bytes{index=\"0\"}", 16384.0 * (1 << 20))
                    .containsEntry(DEVICES_OF_A, 1.0)
                    .containsEntry("genv_is_installed", 1.0));
        }
        await().untilAsserted(() -> assertThat(metrics(service).keySet())
                .contains(TEMPERATURE)
                .noneMatch(series -> series.contains("eid=") || series.contains("pid=")));
    }

    private static Map<String, Double> metrics(Node.Service service) throws IOException {
        return Exposition.parse(
                        new RawHttp(service.managementPort()).get("/q/metrics").text())
                .ofGenv()
                .samples();
    }
}
