package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An environment is alive while one of its Jupyter kernels runs. */
class KernelLivenessTest extends LivenessFixture {
    private static final String KERNEL = "0b5eb0d4-6f2c-4f0e-8a5b-2f5f3c0a7d11";

    KernelLivenessTest(@TempDir Path folder) {
        super(folder);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/home/u/.local/share/jupyter/runtime/kernel-%s.json",
                "--f=/home/u/.local/share/jupyter/runtime/kernel-%s.json",
                "--f=kernel-%s.json",
                "kernel-%s.json",
                "/home/ü ü/kernel-%s.json",
            })
    void isAliveWhileOneOfItsKernelsRuns(String argument) throws IOException {
        proc.process(50).arguments("/sbin/init");
        proc.process(51).arguments("python", "-m", "ipykernel_launcher", "-f", argument.formatted(KERNEL), "--debug");
        assertThat(isAlive(List.of(40), List.of("another", KERNEL))).isTrue();
        assertThat(isAlive(List.of(40), List.of("another"))).isFalse();
    }

    @Test
    void kernelsAreMatchedPerEnvironment() throws IOException {
        proc.process(51).arguments("python", "-f", "/run/kernel-a.json");
        proc.process(52).arguments("python", "-f", "/run/kernel-b.json", "kernel-d.json");
        var environments = Stream.of("a", "b", "c", "d")
                .map(kernel -> new Environment(
                        kernel,
                        1000L,
                        "alice",
                        "",
                        new Environment.Config(null, null, null),
                        List.of(),
                        List.of(kernel)))
                .toList();
        assertThat(alive(environments))
                .extracting(Environment::kernelIds)
                .containsExactly(List.of("a"), List.of("b"), List.of("d"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "%s",
                "kernel-%s",
                "kernel-%s.json.bak",
                "kernel-%s.json/x",
                "mykernel-%s.json",
                "/x/kernel-1%s.json",
                "KERNEL-%s.json",
            })
    void otherArgumentsAreNoKernel(String argument) throws IOException {
        proc.process(51).arguments("python", "-f", argument.formatted(KERNEL));
        assertThat(isAlive(List.of(), List.of(KERNEL))).isFalse();
    }

    /** It can lay its arguments into a file system of its own that never answers: here a pipe that nobody writes. */
    @Test
    void processWithHangingArgumentsCountsAsAnyKernel() throws Exception {
        var cmdline = proc.process(51).uid(61002).file("cmdline");
        Files.delete(cmdline);
        Fifo.at(cmdline);
        var environment = environment(List.of(), List.of(KERNEL));
        var facts = reader.read(List.of(envs(List.of(environment))));
        assertThat(alive(facts, List.of(environment))).hasSize(1);
        assertThat(facts.kernels().unsearched()).isEqualTo("process 51 of uid 61002: reading its arguments hangs");
    }

    @Test
    void aKernelThatIsFoundIsNotReportedAsUnknown() throws Exception {
        proc.process(51).arguments("python", "-f", "/run/kernel-" + KERNEL + ".json");
        var cmdline = proc.process(52).file("cmdline");
        Files.delete(cmdline);
        Fifo.at(cmdline);
        var environment = environment(List.of(), List.of(KERNEL));
        assertThat(alive(List.of(environment))).hasSize(1);
        assertThat(findings.problems()).isEmpty();
    }

    /** genv hands these to a shell. */
    @Test
    void kernelIdIsNotInterpretedAsCode(@TempDir Path elsewhere) throws IOException {
        var trace = elsewhere.resolve("trace");
        proc.process(51).arguments("python", "-f", "/run/kernel-" + KERNEL + ".json");
        for (var id :
                List.of("*", ".*", "$(touch " + trace + ")", "x; touch " + trace, "`touch " + trace + "`", "", "/")) {
            assertThat(isAlive(List.of(), List.of(id))).isFalse();
        }
        assertThat(Files.exists(trace)).isFalse();
    }
}
