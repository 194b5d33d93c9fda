package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.node.proc.LivenessReader.KernelSearch;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.LiveState;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads which processes of environments are alive. */
class LivenessReaderTest {
    private static final String KERNEL = "0b5eb0d4-6f2c-4f0e-8a5b-2f5f3c0a7d11";

    private static final long OWNER = 61001;
    private static final long OTHER_USER = 61002;
    private static final String FILE = "kernel-one.json";

    private final FakeProc proc;
    private final ProcFs files;
    private final LivenessReader reader;
    private final AtomicLong nanos = new AtomicLong();

    LivenessReaderTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        files = new ProcFs(folder);
        reader = new LivenessReader(files);
    }

    @Test
    void deadPidsAreOmitted() throws IOException {
        proc.process(41);
        proc.process(43).state('Z');
        var environment = EnvBuilder.env("a")
                .pids(40, 41, 41, 0, -1, -41, Integer.MIN_VALUE, 43)
                .build();
        assertThat(alive(List.of(environment)))
                .singleElement()
                .satisfies(alive -> assertThat(alive.pids()).containsExactly(41, 43));
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

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = proc.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        var environments = List.of(EnvBuilder.env("a").pids(40).build());
        assertThat(reader.read(List.of(envs(environments))).processes()).isInstanceOf(Reading.Failed.class);
    }

    private Map<Integer, Long> uids(List<Environment> environments) throws IOException {
        return live(environments).uidsOfPids();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/home/ü ü/jupyter/runtime/kernel-%s.json", "--f=kernel-%s.json", "kernel-%s.json"})
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
                .map(kernel -> environment(List.of(), List.of(kernel)))
                .toList();
        assertThat(alive(environments))
                .extracting(Environment::kernelIds)
                .containsExactly(List.of("a"), List.of("b"), List.of("d"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"%s", "kernel-%s", "kernel-%s.json.bak", "mykernel-%s.json", "/x/kernel-1%s.json"})
    void otherArgumentsAreNoKernel(String argument) throws IOException {
        proc.process(51).arguments("python", "-f", argument.formatted(KERNEL));
        assertThat(isAlive(List.of(), List.of(KERNEL))).isFalse();
    }

    private boolean isAlive(List<Integer> pids, List<String> kernels) throws IOException {
        var environment = environment(pids, kernels);
        return !alive(List.of(environment)).isEmpty();
    }

    private List<Environment> alive(List<Environment> environments) throws IOException {
        return live(environments).environments();
    }

    private LiveState live(List<Environment> environments) throws IOException {
        var facts = reader.read(List.of(envs(environments)));
        var state = new State(
                new State.File.Present<>(new EnvsFile(environments, List.of())),
                new State.File.Present<>(DevicesFile.EMPTY));
        return LiveState.of(state, facts, Accounts.NONE, Set.of(), new Findings());
    }

    private static StateFile envs(List<Environment> environments) {
        var files = new StateFiles(Path.of("unused"));
        environments.forEach(each -> files.env(each.eid(), 1000, "alice", null, each.pids(), each.kernelIds()));
        return new StateFile.Present(Bytes.of(files.envsJson().getBytes(StandardCharsets.UTF_8)));
    }

    private static Environment environment(List<Integer> pids, List<String> kernels) {
        var config = new Environment.Config(null, null, null);
        return new Environment(kernels.toString(), 1000L, "alice", "", config, pids, kernels);
    }

    // The limits of the search for kernels.

    /** The rest of an argument that is cut off is not known. */
    @Test
    void doesNotMatchTheBeginningOfALongerArgument() throws IOException {
        proc.process(7).arguments("x".repeat(KernelSearch.ARGUMENTS - FILE.length() - 1), FILE + ".bak");
        assertThat(search(Set.of(FILE)).files()).isEmpty();
    }

    @Test
    void manyProcessesOfAnotherUserDoNotUseUpTheTime() throws IOException {
        for (var pid = 100; pid < 150; pid++) {
            proc.process(pid).uid(OTHER_USER).startTime(pid);
        }
        proc.process(200).uid(OWNER).startTime(200);
        proc.process(201).uid(OWNER).startTime(201).arguments("python", "-f", FILE);
        var result = searchInSteps(60, Set.of(FILE));
        assertThat(result.files()).containsExactly(FILE);
    }

    @Test
    void namesTheProcessForWhichNoTimeWasLeft() throws IOException {
        for (var pid = 100; pid < 110; pid++) {
            proc.process(pid).uid(OTHER_USER).startTime(pid);
        }
        proc.process(200).uid(OWNER).arguments("python");
        var result = searchAfterListing();
        assertThat(result.files()).isEmpty();
        assertThat(result.unsearched())
                .isEqualTo("process 103 of uid 61002: the search reached its limit (and 6 more)");
    }

    @Test
    void stopsAtItsTimeLimit() throws IOException {
        proc.process(100).arguments("python", "-f", FILE);
        var late = new KernelSearch(files, () -> nanos.getAndAdd(KernelSearch.TIME.toNanos()), Set.of(FILE));
        var result = late.search(Set.of());
        assertThat(result.files()).isEmpty();
        assertThat(result.unsearched()).isEqualTo("process 100: the search reached its limit");
    }

    private Kernels search(Set<String> wanted) throws IOException {
        return new KernelSearch(files, nanos::get, wanted).search(Set.of(OWNER));
    }

    /** Searches by a clock that has this many steps before the time is used up, one at each look. */
    private Kernels searchInSteps(int steps, Set<String> wanted) throws IOException {
        var step = KernelSearch.TIME.toNanos() / steps;
        return new KernelSearch(files, () -> nanos.getAndAdd(step), wanted).search(Set.of(OWNER));
    }

    /** Searches by a clock that does not advance until the processes are listed, and then by a quarter of the time at each look. */
    private Kernels searchAfterListing() throws IOException {
        var looks = new AtomicInteger();
        var listing = files.pids().size() + 1;
        return new KernelSearch(
                        files,
                        () -> looks.incrementAndGet() <= listing ? 0 : nanos.getAndAdd(KernelSearch.TIME.toNanos() / 4),
                        Set.of(FILE))
                .search(Set.of(OWNER));
    }
}
