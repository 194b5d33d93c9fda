package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import com.fasterxml.jackson.core.JsonFactory;
import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.LivenessFacts;
import dev.genv.enforcer.facts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.observation.state.ActiveEnvironments;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LivenessReaderTest {
    private static final String KERNEL = "0b5eb0d4-6f2c-4f0e-8a5b-2f5f3c0a7d11";
    private final FakeProc proc;
    private final LivenessReader reader;

    LivenessReaderTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        reader = new LivenessReader(new ProcFs(folder));
    }

    @Test
    void isAliveWhileOneOfItsPidsRuns() throws IOException {
        proc.process(41);
        assertThat(isAlive(List.of(40, 41), List.of())).isTrue();
        assertThat(isAlive(List.of(40, 42), List.of())).isFalse();
        assertThat(isAlive(List.of(), List.of())).isFalse();
    }

    @Test
    void deadPidsAreOmitted() throws IOException {
        proc.process(41);
        proc.process(43).state('Z');
        var environment = EnvBuilder.env("a").pids(40, 41, 41, -1, 43).build();
        assertThat(alive(List.of(environment)))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(41, 43));
    }

    @Test
    void aZombieCountsAsAlive() throws IOException {
        proc.process(41).state('Z');
        assertThat(isAlive(List.of(41), List.of())).isTrue();
    }

    /** The kernel opens the directory of a thread, but does not list it. */
    @Test
    void aThreadIsNotAProcess() throws IOException {
        proc.process(41);
        Files.writeString(proc.process(42).file("status"), "Tgid:\t41\nPid:\t42\nUid:\t1000\t0\t0\t0\n");
        assertThat(isAlive(List.of(41), List.of())).isTrue();
        assertThat(alive(List.of(EnvBuilder.env("a").pids(41, 42).build())))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(41));
    }

    @Test
    void findsOneOfManyListedPids() throws IOException {
        proc.process(41);
        var pids = IntStream.rangeClosed(41, 10_000).boxed().toList();
        assertThat(isAlive(pids, List.of())).isTrue();
        assertThat(isAlive(pids.subList(1, pids.size()), List.of())).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, -41, Integer.MIN_VALUE})
    void invalidPidIsNotAlive(int pid) throws IOException {
        proc.process(41);
        assertThat(isAlive(List.of(pid), List.of())).isFalse();
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

    /** Both lists are written by users, and the look at a machine has a deadline. */
    @Test
    void manyKernelsAndArgumentsAreSearchedInTime() throws IOException {
        proc.process(51)
                .arguments(
                        IntStream.range(0, 200_000).mapToObj(i -> i + ".json").toArray(String[]::new));
        var kernels = IntStream.range(0, 200_000).mapToObj(String::valueOf).toList();
        // Each kernel compared with each argument would take several times as long.
        assertTimeout(
                Duration.ofSeconds(30),
                () -> assertThat(isAlive(List.of(), kernels)).isFalse());
    }

    /** It can lay its arguments into a file system of its own that never answers: here a pipe that nobody writes. */
    @Test
    void processWithHangingArgumentsCountsAsAnyKernel() throws Exception {
        var cmdline = proc.process(51).uid(61002).file("cmdline");
        Files.delete(cmdline);
        Fifo.at(cmdline);
        var environment = environment(List.of(), List.of(KERNEL));
        var facts = reader.read(envs(List.of(environment)));
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
        var found = ActiveEnvironments.of(reader.read(envs(List.of(environment))), List.of(environment));
        assertThat(found.value().environments()).hasSize(1);
        assertThat(found.problems()).isEmpty();
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

    private boolean isAlive(List<Integer> pids, List<String> kernels) throws IOException {
        var environment = environment(pids, kernels);
        return !alive(List.of(environment)).isEmpty();
    }

    @Test
    void returnsRealUidsOfRunningPids() throws IOException {
        proc.process(40).uid(1000);
        proc.process(41).uid(1001).state('Z');
        proc.process(42).uid(1002);
        Files.writeString(proc.process(43).file("status"), "Name:\tpython\nUid:\tnobody\n");
        var environments = List.of(
                EnvBuilder.env("a").pids(40, 41, 43, 999).build(),
                EnvBuilder.env("b").pids(40).build());
        assertThat(uids(environments)).isEqualTo(Map.of(40, 1000L, 41, 1001L));
    }

    /** Whose an environment is, its shell tells, also where somebody struck its pid out. */
    @Test
    void returnsRealUidOfTheShellAnEnvironmentIsNamedAfter() throws IOException {
        proc.process(40).uid(1000);
        proc.process(99).uid(1008);
        assertThat(uids(List.of(EnvBuilder.env("40").pids(99).build()))).isEqualTo(Map.of(40, 1000L, 99, 1008L));
    }

    @Test
    void omitsManyDeadPids() throws IOException {
        proc.process(40).uid(1000);
        var pids = IntStream.range(30, 300_000).toArray();

        var environment = EnvBuilder.env("a").pids(pids).build();
        var facts = reader.read(envs(List.of(environment)));

        assertThat(alive(facts, List.of(environment)))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(40));
        assertThat(facts.processes()).isEqualTo(Reading.of(List.of(new LiveProcess(40, 1000L, null))));
    }

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = proc.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        var environments = List.of(EnvBuilder.env("a").pids(40).build());
        assertThat(reader.read(envs(environments)).processes()).isInstanceOf(Reading.Failed.class);
    }

    private List<Environment> alive(List<Environment> environments) throws IOException {
        return alive(reader.read(envs(environments)), environments);
    }

    private static List<Environment> alive(LivenessFacts facts, List<Environment> environments) throws IOException {
        return ActiveEnvironments.of(facts, environments).value().environments();
    }

    private Map<Integer, Long> uids(List<Environment> environments) throws IOException {
        return ActiveEnvironments.of(reader.read(envs(environments)), environments)
                .value()
                .uids();
    }

    private static StateFile envs(List<Environment> environments) throws IOException {
        var bytes = new ByteArrayOutputStream();
        try (var out = new JsonFactory().createGenerator(bytes)) {
            EnvsFile.write(environments, out);
        }
        return new StateFile.Present(Bytes.of(bytes.toByteArray()));
    }

    private static Environment environment(List<Integer> pids, List<String> kernels) {
        var config = new Environment.Config(null, null, null);
        return new Environment("15971", 1000L, "alice", "", config, pids, kernels);
    }
}
