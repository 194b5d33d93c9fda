package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.node.proc.LivenessReader.KernelSearch;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads which processes of environments are alive. */
class LivenessReaderTest {
    private static final long OWNER = 61001;
    private static final long OTHER_USER = 61002;
    private static final String FILE = "kernel-one.json";

    private final FakeProc proc;
    private final ProcFs files;
    private final AtomicLong nanos = new AtomicLong();

    LivenessReaderTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        files = new ProcFs(folder);
    }

    /** The kernel opens the directory of a thread, but does not list it. */
    @Test
    void aThreadIsNotAProcess() throws IOException {
        proc.process(41).uid(1000);
        Files.writeString(proc.process(42).file("status"), "Tgid:\t41\nPid:\t42\nUid:\t1000\t0\t0\t0\n");
        assertThat(read(41, 42)).isEqualTo(Reading.of(List.of(new LiveProcess(41, 1000L))));
    }

    /** It must not look as if nobody's uid spoke against what was written. */
    @Test
    void unreadableUidOfARunningProcessIsAnError() throws IOException {
        var status = proc.process(40).file("status");
        Files.delete(status);
        Files.createDirectory(status);
        assertThat(read(40)).isInstanceOf(Reading.Failed.class);
    }

    private Reading<List<LiveProcess>> read(Integer... pids) {
        var json = new StateFiles(Path.of("unused"))
                .env("a", 1000, "alice", null, pids)
                .envsJson();
        var envs = new StateFile.Present(Bytes.of(json.getBytes(StandardCharsets.UTF_8)));
        return new LivenessReader(files).read(List.of(envs)).processes();
    }

    // The limits of the search for kernels.

    @Test
    void manyProcessesOfAnotherUserDoNotUseUpTheTime() throws IOException {
        for (var pid = 100; pid < 150; pid++) {
            proc.process(pid).uid(OTHER_USER).startTime(pid);
        }
        proc.process(200).uid(OWNER).startTime(200);
        proc.process(201).uid(OWNER).startTime(201).arguments("python", "-f", FILE);
        var step = KernelSearch.TIME.toNanos() / 60; // at each look at the clock
        var search = new KernelSearch(files, () -> nanos.getAndAdd(step), Set.of(FILE));
        assertThat(search.search(Set.of(OWNER)).files()).containsExactly(FILE);
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
