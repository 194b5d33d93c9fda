package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.LivenessReader.KernelSearch;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class ProcessReaderTest {
    private static final Path REAL = Path.of("/proc");

    private final FakeProc proc;
    private final ProcFs files;
    private final ProcessReader reader;

    ProcessReaderTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        files = new ProcFs(folder);
        reader = new ProcessReader(files);
    }

    /** If the pid went to another process after the first look, nothing that was read is of one and the same process. */
    @Test
    void onlyAProcessThatIsTheSameAfterTheReadIsObserved() throws Exception {
        assertThat(isObservedWhenChangedDuringTheRead(812, process -> process.startTime(2000)))
                .isFalse();
        assertThat(isObservedWhenChangedDuringTheRead(813, process -> process.state('Z')))
                .isFalse();
        assertThat(isObservedWhenChangedDuringTheRead(814, process -> process.command("other")))
                .isTrue();
    }

    /** Alice is 1000 and has subordinate uids; each of her processes takes three quarters of the time. */
    @Test
    void processesForWhichNoTimeIsLeftAreReadFirstInTheNextObservation() throws Exception {
        for (var pid = 1; pid <= 4; pid++) {
            proc.process(pid).uid(pid % 2 == 0 ? 1000 : 100_000 + pid).environ("GENV_ENVIRONMENT_ID=a");
        }
        files.setSubordinateUids(new SubordinateUids(List.of(new SubordinateUids.Range(1000, 100_000, 65_536))));
        var slow = new ProcessReader(files, () -> nanos += ProcessReader.TIME.toNanos() / 4 * 3);
        var pids = List.of(4, 3, 2, 1);
        assertThat(unread(slow.readAll(pids, List.of()))).containsExactly(2, 1);
        assertThat(unread(slow.readAll(pids, List.of(7, 2, 1)))).containsExactly(4, 3);
    }

    @Test
    void observesARealProcessWhoseFirstThreadHasExited(@TempDir Path folder) throws Exception {
        var program = Programs.compile(folder.resolve("leaderless"), """
            #include <pthread.h>
            #include <unistd.h>
            static void *run(void *x) { sleep(600); return x; }
            int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }
            """);
        try (var child = Child.running(List.of(program.toString()), Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            var stat = REAL.resolve(child.pid() + "/stat");
            await().until(() -> Files.readString(stat).contains(") Z "));
            assertThat(observe(new ProcessReader(new ProcFs(REAL)), child.pid()))
                    .hasValueSatisfying(seen -> assertThat(seen.environ().content())
                            .isEqualTo(new Content.Intact(new Membership.InEnvironment("a"))));
        }
    }

    private static List<Integer> unread(List<ProcessFacts> processes) {
        return processes.stream()
                .filter(process -> process.environ()
                        .equals(Reading.failed(Reading.Failure.NO_TIME, "no time was left to wait for its answer")))
                .map(ProcessFacts::pid)
                .toList();
    }

    private Optional<ObservedProcess> observe(int pid) {
        return observe(reader, pid);
    }

    private static Optional<ObservedProcess> observe(ProcessReader reader, int pid) {
        return ProcessIdentity.of(reader.read(pid)) instanceof ProcessIdentity.Present(var process)
                ? Optional.of(process)
                : Optional.empty();
    }

    /** Its environment is a pipe, which somebody opens just when it is read: after the first look at {@code stat}. */
    private boolean isObservedWhenChangedDuringTheRead(int pid, Change change) throws Exception {
        var process = proc.process(pid);
        var pipe = process.hang("environ");
        var writing = CompletableFuture.runAsync(() -> {
            try (var stream = Files.newOutputStream(pipe)) {
                change.make(process);
                stream.write("GENV_ENVIRONMENT_ID=15971\0".getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        var seen = observe(pid);
        writing.get();
        return seen.isPresent();
    }

    private interface Change {
        Object make(FakeProc.FakeProcess process) throws IOException;
    }

    @Test
    void listsNothingButPids() throws IOException {
        proc.process(1);
        proc.process(812);
        for (var other : new String[] {"self", "sys", "0", "007", "12x"}) {
            Files.createDirectory(proc.root().resolve(other));
        }
        assertThat(files.pids()).containsExactlyInAnyOrder(1, 812);
    }

    /** {@code AncestorsTableTest} has which processes are read. */
    @Test
    void readingOfAncestorsStopsWhenTheTimeIsOver() throws IOException, InterruptedException {
        proc.process(812).parent(400).environ("HOME=/").overwrite();
        proc.process(400);
        proc.process(813).parent(401).environ("HOME=/").overwrite();
        proc.process(401);
        var slow = new ProcessReader(files, () -> nanos += Duration.ofSeconds(1).toNanos());
        var found = AncestorReader.read(slow, List.of(reader.read(812), reader.read(813)));
        assertThat(found).singleElement().satisfies(ancestor -> {
            assertThat(ancestor.pid()).isEqualTo(400);
            assertThat(ancestor.environ()).isInstanceOf(Reading.Value.class);
        });
    }

    /** As the kernel does it while an execve(2) of the process does not end. */
    @Test
    void processWhoseStatDoesNotAnswerKeepsNoOtherFromBeingRead() throws Exception {
        for (var pid = 811; pid <= 813; pid++) {
            proc.process(pid).environ("GENV_ENVIRONMENT_ID=a");
        }
        var release = proc.process(812).hang("stat");
        var silent = Reading.failed(Failure.TIMEOUT, "it does not answer");
        for (var observation = 0; observation < 2; observation++) {
            files.beginObservation();
            assertThat(reader.readAll(List.of(811, 812, 813), List.of()))
                    .as("observation " + observation)
                    .extracting(facts -> facts.after() instanceof Reading.Value ? "read" : facts.before())
                    .containsExactly("read", silent, "read");
        }
        assertThat(files.stats(List.of(812, 813)))
                .satisfiesExactly(
                        stat -> assertThat(stat).isEqualTo(silent),
                        stat -> assertThat(stat).isInstanceOf(Reading.Value.class));
        assertThat(files.stat(812)).isEqualTo(silent);
        proc.process(814).parent(812).environ("HOME=/").overwrite();
        assertThat(AncestorReader.read(reader, List.of(reader.read(814))))
                .as("the parent of process 814")
                .singleElement()
                .satisfies(parent -> assertThat(parent.before()).isEqualTo(silent));
        Files.writeString(release, "");
    }

    // The turns of the owners.

    private long nanos;

    /** The pids from 1000 on are Alice's. All of Bob's processes together take less time than one of hers. */
    @Test
    void slowProcessesDelayOnlyThoseOfTheirOwner() {
        var pids = new ArrayList<Integer>();
        IntStream.range(1000, 1700).forEach(pids::add);
        IntStream.range(1, 31).forEach(pids::add);
        var inTime = turns(pids, pid -> pid >= 1000 ? Duration.ofMillis(50) : Duration.ofMillis(1));
        assertThat(inTime).startsWith(1000).containsAll(pids.subList(700, 730));
        assertThat(inTime.indexOf(30)).isLessThan(inTime.indexOf(1001));
        assertThat(inTime).hasSize(30 + 80); // 3970 ms are left for hers, and the last one may exceed them
    }

    @Test
    void ownersWhoseProcessesTakeNoTimeTakeTurns() {
        assertThat(turns(List.of(1001, 1002, 1003, 2001, 2002), _ -> Duration.ZERO))
                .containsExactly(1001, 2001, 1002, 2002, 1003);
    }

    /** Returns the pids that are read in time, in their order. */
    private List<Integer> turns(List<Integer> pids, IntFunction<Duration> time) {
        var order = new ProcessTurns<>(pids, pid -> pid / 1000, ProcessReader.TIME, () -> nanos);
        var inTime = new ArrayList<Integer>();
        var all = new ArrayList<Integer>();
        while (order.hasNext()) {
            var turn = order.next();
            all.add(turn.process());
            if (turn.inTime()) {
                inTime.add(turn.process());
                nanos += time.apply(turn.process()).toNanos();
            }
        }
        assertThat(all).containsExactlyInAnyOrderElementsOf(pids);
        return inTime;
    }

    // Which program a process runs. The host's root directory is a fake one, with files of root's in it; /opt/server is
    // protected.

    private Path file(String name) throws IOException {
        Requirements.root();
        var file = proc.hostRoot().resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, name);
    }

    private Reading<ProgramFile> server() {
        return new ProgramFiles(files, List.of(Path.of("/opt/server"))).read().getFirst();
    }

    /** The kernel answers from its cache, so a program is examined although every thread waits for a process that hangs. */
    @Test
    void identifiesProgramWhenNoThreadIsLeft() throws Exception {
        proc.process(812).exe(file("opt/server"));
        var pipes = new ArrayList<Path>();
        var seen = reader.read(812).environ();
        for (var pid = 1000; !isRefused(seen); pid++) {
            pipes.add(proc.process(pid).uid(pid).hang("environ"));
            assertThat(reader.read(pid).environ()).isInstanceOf(Reading.Failed.class);
            seen = reader.read(812).environ();
        }
        assertThat(server())
                .isInstanceOf(Reading.Value.class)
                .isEqualTo(reader.read(812).executable());
        for (var pipe : pipes) {
            Files.newOutputStream(pipe).close();
        }
    }

    /** Whether it was not read for lack of a thread; a slow machine may only have taken too long. */
    private static boolean isRefused(Reading<?> reading) {
        return reading instanceof Reading.Failed<?>(var failure, var reason)
                && failure == Failure.NO_TIME
                && reason.contains("other processes already do not answer");
    }

    // The limits of the search for kernels.

    private static final long OWNER = 61001;
    private static final long OTHER_USER = 61002;
    private static final String FILE = "kernel-one.json";

    @Test
    void manyProcessesOfAnotherUserDoNotUseUpTheTime() throws Exception {
        for (var pid = 100; pid < 150; pid++) {
            proc.process(pid).uid(OTHER_USER).startTime(pid);
        }
        proc.process(200).uid(OWNER).startTime(200);
        proc.process(201).uid(OWNER).startTime(201).arguments("python", "-f", FILE);
        var step = KernelSearch.TIME.toNanos() / 60; // at each look at the clock
        var search = new KernelSearch(files, () -> look(step), Set.of(FILE));
        assertThat(search.search(Set.of(OWNER)).files()).containsExactly(FILE);
    }

    @Test
    void namesTheProcessForWhichNoTimeWasLeft() throws Exception {
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
    void stopsAtItsTimeLimit() throws Exception {
        proc.process(100).arguments("python", "-f", FILE);
        var late = new KernelSearch(files, () -> look(KernelSearch.TIME.toNanos()), Set.of(FILE));
        var result = late.search(Set.of());
        assertThat(result.files()).isEmpty();
        assertThat(result.unsearched()).isEqualTo("process 100: the search reached its limit");
    }

    /** A look at a clock, which takes time. */
    private long look(long time) {
        nanos += time;
        return nanos - time;
    }

    /** Searches by a clock that does not advance until the processes are listed, and then by a quarter of the time at each look. */
    private Kernels searchAfterListing() throws Exception {
        var looks = new AtomicInteger();
        var listing = files.pids().size() + 1;
        return new KernelSearch(
                        files,
                        () -> looks.incrementAndGet() <= listing ? 0 : look(KernelSearch.TIME.toNanos() / 4),
                        Set.of(FILE))
                .search(Set.of(OWNER));
    }
}
