package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class ProcessReaderTest {
    private static final Path REAL = Path.of("/proc");

    private final FakeProc proc;
    private final ProcessReader reader;

    ProcessReaderTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        reader = new ProcessReader(new ProcFs(folder));
    }

    @Test
    void membershipIsUnknownWhenAllThreadsSeemToHaveExited() throws IOException {
        var process = proc.process(812).uid(1003).state('Z').threads(2);
        process.thread(812).state('Z');
        process.thread(813).withoutEnvironment();

        assertThat(observe(812))
                .hasValueSatisfying(seen -> assertThat(named(seen)).isInstanceOf(Membership.Unknown.class));
    }

    /** The pid went to somebody else after the first look: nothing that was read is of one and the same process. */
    @Test
    void pidReusedDuringTheReadIsGone() throws Exception {
        assertThat(isObservedWhenChangedDuringTheRead(process -> process.startTime(2000)))
                .isFalse();
    }

    @Test
    void processThatExitsDuringTheReadIsGone() throws Exception {
        assertThat(isObservedWhenChangedDuringTheRead(process -> process.state('Z')))
                .isFalse();
    }

    @Test
    void processThatChangesItsNameDuringTheReadIsObserved() throws Exception {
        assertThat(isObservedWhenChangedDuringTheRead(process -> process.command("other")))
                .isTrue();
    }

    /** Alice is 1000 and has subordinate uids; each of her processes takes three quarters of the time. */
    @Test
    void processesForWhichNoTimeIsLeftAreReadFirstInTheNextObservation() throws Exception {
        for (var pid = 1; pid <= 4; pid++) {
            proc.process(pid).uid(pid % 2 == 0 ? 1000 : 100_000 + pid).environ("GENV_ENVIRONMENT_ID=a");
        }
        var files = new ProcFs(proc.root());
        files.setSubordinateUids(new SubordinateUids(List.of(new SubordinateUids.Range(1000, 100_000, 65_536))));
        var nanos = new AtomicLong();
        var slow = new ProcessReader(files, () -> nanos.addAndGet(ProcessReader.TIME.toNanos() / 4 * 3));
        var pids = List.of(4, 3, 2, 1);
        assertThat(unread(slow.readAll(pids, Set.of(), List.of()))).containsExactly(2, 1);
        assertThat(unread(slow.readAll(pids, Set.of(), List.of(7, 2, 1)))).containsExactly(4, 3);
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
                    .hasValueSatisfying(seen -> assertThat(named(seen)).isEqualTo(new Membership.InEnvironment("a")));
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

    /** Returns the membership that the environ of a process names. */
    private static Membership named(ObservedProcess process) {
        return switch (process.environ().content()) {
            case Content.Intact(var named) -> named;
            case Content.Unavailable(var reason) -> reason;
            case Content.Overwritten() -> new Membership.Unknown("it is overwritten");
        };
    }

    /** Its environment is a pipe, which somebody opens just when it is read: after the first look at {@code stat}. */
    private boolean isObservedWhenChangedDuringTheRead(Change change) throws Exception {
        var process = proc.process(812);
        Files.delete(process.file("environ"));
        var pipe = Programs.fifo(process.file("environ"));
        var writing = CompletableFuture.runAsync(() -> {
            try (var stream = Files.newOutputStream(pipe)) {
                change.make(process);
                stream.write("GENV_ENVIRONMENT_ID=15971\0".getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        var seen = observe(812);
        writing.get();
        return seen.isPresent();
    }

    private interface Change {
        Object make(FakeProc.FakeProcess process) throws IOException;
    }
}
