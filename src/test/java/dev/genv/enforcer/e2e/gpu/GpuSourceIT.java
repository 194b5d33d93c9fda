package dev.genv.enforcer.e2e.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The packaged service with a fake NVML. */
@Tag("long")
class GpuSourceIT extends NodeSuite {
    private static final String LIVE = "/q/health/live";
    private static final String READY = "/q/health/ready";
    private static final long MEBIBYTE = 1 << 20;

    private FakeNvml nvml;

    @BeforeEach
    void createLibrary() throws IOException {
        nvml = new FakeNvml(node.directory.resolve("lib")).gpus(1);
        node.gpus.gpus(1);
        node.state.device(0).write();
        node.set("NVML_LIBRARY", nvml.path()).set("GRACE", "0s");
    }

    @Test
    void takesNvmlThatListsTheSameAndTerminatesWhatItLists() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            list(stray);
            var service = node.set("NON_ENV_PROCESSES", "enforce").startService();
            assertThat(stray.awaitExit()).isEqualTo(143);
            awaitSource(new ServiceClient(service), "nvml", "NVML and nvidia-smi list the same");
            assertThat(service.outputLines())
                    .filteredOn(line -> line.contains("source of GPU data"))
                    .first()
                    .asString()
                    .contains("NVML is the source of GPU data: NVML and nvidia-smi list the same");
        }
    }

    @Test
    void needsNoNvidiaSmi() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            nvml.process(0, stray.pid(), 5 * MEBIBYTE);
            var service = node.set("NON_ENV_PROCESSES", "enforce")
                    .set("GPU_SOURCE", "nvml")
                    .set("NVML_HOLD", false)
                    .set("NVIDIA_SMI", "/nowhere/nvidia-smi")
                    .startService();
            assertThat(stray.awaitExit()).isEqualTo(143);
            new ServiceClient(service).awaitHealthy();
        }
    }

    @Test
    void takesNvidiaSmiWithoutTheLibrary() throws IOException {
        var service = node.set("NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1").startService();
        var client = new ServiceClient(service);
        client.awaitHealthy();
        await().untilAsserted(() -> {
            assertThat(client.json("/hosts").at("/0/gpu_source").asText()).isEqualTo("nvidia-smi");
            assertThat(client.json("/hosts").at("/0/gpu_source_reason").asText())
                    .startsWith("NVML failed: /nowhere/libnvidia-ml.so.1");
        });
    }

    @Test
    void accessThatNeverWorkedDoesNotFailLiveness() throws IOException {
        nvml.fail("nvmlInit_v2", 17);
        var service = node.set("NVIDIA_SMI", "/nowhere/nvidia-smi").startService();
        var client = new ServiceClient(service);
        var seen = client.observe();
        for (var cycle = 0; cycle < 5; cycle++) {
            seen = client.awaitNext(seen);
            assertThat(seen.problems()).containsExactly("gpu_access_denied");
        }
        assertThat(client.status(LIVE)).isEqualTo(200);
        assertThat(client.status(READY)).isEqualTo(503);
    }

    @Test
    void accessThatWasLostFailsLiveness() throws IOException {
        var client = new ServiceClient(node.startService());
        awaitSource(client, "nvml", "NVML and nvidia-smi list the same");
        nvml.fail("nvmlDeviceGetCount_v2", 999).fail("nvmlInit_v2", 999);
        node.gpus.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
        await().untilAsserted(() -> assertThat(client.status(LIVE)).isEqualTo(503));
        assertThat(client.observe().problems()).containsExactly("gpu_needs_new_container");
    }

    @Test
    void hangingDriverIsAProblemUntilItAnswers() throws IOException {
        var end = node.directory.resolve("end");
        nvml.hang("nvmlDeviceGetCount_v2", end);
        var service = node.set("GPU_SOURCE", "nvml").set("GPU_TIMEOUT", "300ms").startService();
        var client = new ServiceClient(service);
        var seen = client.awaitNext(client.observe());
        assertThat(client.awaitNext(seen).problems()).containsExactly("gpu_tool_failed");
        assertThat(client.status(LIVE)).isEqualTo(200);
        Files.createFile(end);
        client.awaitHealthy();
    }

    private void list(Child process) throws IOException {
        node.gpus.process(0, process.pid(), "5");
        nvml.process(0, process.pid(), 5 * MEBIBYTE);
    }

    private static void awaitSource(ServiceClient client, String source, String reason) {
        await().untilAsserted(() -> {
            var host = client.json("/hosts").path(0);
            assertThat(host.path("gpu_source").asText()).isEqualTo(source);
            assertThat(host.path("gpu_source_reason").asText()).isEqualTo(reason);
        });
    }
}
