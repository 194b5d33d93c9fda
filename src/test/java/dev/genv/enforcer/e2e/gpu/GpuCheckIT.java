package dev.genv.enforcer.e2e.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code docker/gpu-check} with the packaged service, a fake nvidia-smi and a fake CUDA driver. */
@Tag("long")
@Timeout(600)
class GpuCheckIT {
    private static final String SERVICE = "%s -jar %s"
            .formatted(
                    Path.of(System.getProperty("java.home"), "bin", "java"),
                    Path.of(System.getProperty("packaged.jar")).toAbsolutePath());

    @TempDir
    Path folder;

    private final Map<String, String> variables = new TreeMap<>();
    private FakeNvidiaSmi smi;
    private Path cuda;

    private record Result(int exitCode, String text) {}

    @BeforeEach
    void createMachine() throws IOException {
        Requirements.program("/usr/bin/python3", "python3");
        Requirements.program("/usr/bin/gcc", "gcc libc6-dev");
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(1);
        cuda = folder.resolve("libcuda.so.1");
        Programs.run("/usr/bin/gcc", "-O2", "-shared", "-fPIC", "-o", cuda.toString(), "src/test/c/cuda/cuda.c");
        variables.put("GENV_ENFORCER_NVIDIA_SMI", smi.path().toString());
        variables.put("GENV_ENFORCER_REQUIRE_HOST_PID", "false");
        variables.put("GPU_CHECK_PATIENCE", "600");
        variables.put("FAKE_CUDA_UUID", FakeNvidiaSmi.uuid(0));
        variables.put(
                "FAKE_CUDA_SMI", folder.resolve("bin/nvidia-smi.processes").toString());
    }

    /** The fake CUDA driver opens no device file. */
    @Test
    void machineAsExpectedIsReported() throws Exception {
        Requirements.require(
                !Files.readString(Path.of("/proc/devices")).contains(" nvidia"),
                "no NVIDIA driver",
                "use docker/gpu-check there");
        var result = check("--service", SERVICE, "--cuda", cuda.toString());
        assertThat(result.text)
                .contains("non-env-processes would terminate the second one only", "open device files")
                .doesNotContain("FAILED");
        assertThat(result.text).contains("Everything that was tested is as expected.");
        assertThat(result.exitCode).isZero();
    }

    @Test
    void processesThatAreNotListedAreReported() throws Exception {
        variables.put("FAKE_CUDA_SMI", folder.resolve("elsewhere").toString());
        variables.put("GPU_CHECK_PATIENCE", "60");
        var result = check("--service", SERVICE, "--cuda", cuda.toString());
        assertThat(result.text).contains("FAILED      the process outside is listed", "Something is not as expected.");
        assertThat(result.exitCode).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({
        "FAKE_CUDA_ERROR, 100, 'no GPU memory could be allocated: cuInit failed with 100'",
        "CUDA, /nowhere/libcuda.so.1, no GPU memory could be allocated",
        "SERVICE, sh -c 'echo no such image; exit 1', no such image",
        "GENV_ENFORCER_NVIDIA_SMI, /nowhere/nvidia-smi, /nowhere/nvidia-smi is not there",
    })
    void whatIsMissingIsReported(String name, String value, String text) throws Exception {
        variables.put(name, value);
        var result = check(
                "--service",
                variables.getOrDefault("SERVICE", SERVICE),
                "--cuda",
                variables.getOrDefault("CUDA", cuda.toString()));
        assertThat(result.text).contains(text);
        assertThat(result.exitCode).isEqualTo(2);
    }

    private Result check(String... arguments) throws IOException, InterruptedException {
        var command = new ArrayList<>(List.of("/usr/bin/python3", "docker/gpu-check"));
        command.addAll(List.of(arguments));
        var output = folder.resolve("report");
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("GENV_") || name.startsWith("QUARKUS_"));
        builder.environment().putAll(variables);
        var exitCode = builder.start().waitFor();
        return new Result(exitCode, Files.readString(output, StandardCharsets.UTF_8));
    }
}
