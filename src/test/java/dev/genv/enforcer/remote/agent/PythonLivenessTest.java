package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which of the processes and kernels that envs.json lists exist. */
class PythonLivenessTest extends PythonFixture {

    @Test
    void findsRunningKernels() throws Exception {
        // No other process of this machine has these.
        var one = UUID.randomUUID().toString();
        var two = UUID.randomUUID().toString();
        var three = UUID.randomUUID().toString();
        machine.files()
                .env("1", 0, null, null, List.of(), List.of(one, two, three))
                .write();
        try (var first = startKernel("/run/kernel-%s.json".formatted(one));
                var second = startKernel("-f=kernel-%s.json".formatted(two));
                var none = startKernel(
                        "/run/kernel-%s.json.bak".formatted(three),
                        "/run/xkernel-%s.json".formatted(three),
                        "kernel-%s.json\nx".formatted(three))) {
            assertThat(List.of(first, second, none)).allMatch(Child::isAlive);
            var kernels = machine.facts().at("/liveness/kernels");
            assertThat(list(kernels.get("files")))
                    .contains("kernel-%s.json".formatted(one), "kernel-%s.json".formatted(two))
                    .noneMatch(file -> file.contains(three));
            assertThat(kernels.get("unsearched").asText()).isEmpty();
            var envs = machine.state.resolve("envs.json");
            Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
            assertThat(list(machine.facts().at("/liveness/kernels/files"))).contains("kernel-%s.json".formatted(one));
            machine.files().env("1", 0, null, null, 1).write();
            assertThat(machine.facts().at("/liveness/kernels/files")).isEmpty();
        }
    }

    /** It runs once it has become the shell: until then the kernel shows the arguments of the JVM's helper. */
    private static Child startKernel(String... arguments) throws IOException {
        var command = new ArrayList<>(List.of("sh", "-c", "sleep 600; :"));
        command.addAll(List.of(arguments));
        var child = Child.running(command, Map.of());
        await().until(() -> child.command().equals("sh"));
        return child;
    }

    @Test
    void reportsProcessesWhoseArgumentsHang() throws Exception {
        var proc = useFakeProc();
        hang(proc.process(7), "cmdline");
        proc.process(8).arguments("x".repeat(32 << 10), "/run/kernel-one.json");
        proc.process(9).arguments("x".repeat(64 << 10), "/run/kernel-two.json");
        machine.files()
                .env("1", 0, null, null, List.of(), List.of("one", "two"))
                .write();
        var kernels = machine.facts().at("/liveness/kernels");
        assertThat(list(kernels.get("files"))).containsExactly("kernel-one.json");
        assertThat(kernels.get("unsearched").asText()).isEqualTo("process 7 of uid 1000: reading its arguments hangs");
        machine.request.put("skipKernels", true);
        kernels = machine.facts().at("/liveness/kernels");
        assertThat(kernels.get("files")).isEmpty();
        assertThat(kernels.get("unsearched").asText()).contains("in an earlier observation");
    }

    /** Users choose the arguments of their processes, and an answer that is too large would hide the whole machine. */
    @Test
    void manyNamesOfKernelsAreUnknown() throws Exception {
        var proc = useFakeProc();
        for (var pid = 10; pid < 14; pid++) {
            var first = pid * 3000;
            proc.process(pid)
                    .arguments(IntStream.range(first, first + 3000)
                            .mapToObj("kernel-%d.json"::formatted)
                            .toArray(String[]::new));
        }
        machine.files().env("1", 0, null, null, List.of(), List.of("30001")).write();
        var kernels = machine.facts().at("/liveness/kernels");
        assertThat(list(kernels.get("files"))).containsExactly("kernel-30001.json");
        assertThat(kernels.get("unsearched").asText()).isEmpty();
        // An escape hides which kernels are wanted.
        var envs = machine.state.resolve("envs.json");
        Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
        kernels = machine.facts().at("/liveness/kernels");
        assertThat(kernels.get("files")).isEmpty();
        assertThat(kernels.get("unsearched").asText())
                .isEqualTo("more than 10000 processes or arguments look like kernels");
    }

    /** The JSON of each byte that is not valid in UTF-8 takes six bytes. */
    @Test
    void longNamesOfKernelsAreUnknown() throws Exception {
        var proc = useFakeProc();
        proc.process(7).arguments("/run/kernel-one.json");
        for (var pid = 10; pid < 70; pid++) {
            Files.write(
                    proc.process(pid).file("cmdline"),
                    "kernel-%s.json".formatted("é".repeat(60_000)).getBytes(ISO_8859_1));
        }
        machine.files().env("1", 0, null, null, List.of(), List.of("one")).write();
        var envs = machine.state.resolve("envs.json");
        Files.writeString(envs, Files.readString(envs).replace("kernel_ids", "kernel\\u005fids"));
        var kernels = machine.facts().at("/liveness/kernels");
        assertThat(list(kernels.get("files"))).containsExactly("kernel-one.json");
        assertThat(kernels.get("unsearched").asText()).isEmpty();
        for (var pid = 10; pid < 70; pid++) {
            var first = pid * 100;
            var names = IntStream.range(first, first + 100)
                    .mapToObj(number -> "kernel-%s%d.json".formatted("é".repeat(230), number))
                    .collect(Collectors.joining("\0"));
            Files.write(proc.process(pid).file("cmdline"), names.getBytes(ISO_8859_1));
        }
        kernels = machine.facts().at("/liveness/kernels");
        assertThat(kernels.get("files")).isEmpty();
        assertThat(kernels.get("unsearched").asText())
                .isEqualTo("processes or arguments that look like kernels have too long names");
    }
}
