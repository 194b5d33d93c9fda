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
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads which processes of environments are alive. */
class LivenessReaderTest {
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

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = proc.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        var environments = List.of(EnvBuilder.env("a").pids(40).build());
        assertThat(reader.read(List.of(envs(environments))).processes()).isInstanceOf(Reading.Failed.class);
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
