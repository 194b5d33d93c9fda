package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.Kernels;
import dev.genv.enforcer.node.proc.LivenessReader.KernelSearch;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KernelSearchTest {
    private static final long OWNER = 61001;
    private static final long OTHER_USER = 61002;
    private static final String FILE = "kernel-one.json";

    private final FakeProc proc;
    private final ProcFs files;
    private final AtomicLong nanos = new AtomicLong();

    KernelSearchTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        files = new ProcFs(folder);
    }

    @Test
    void findsAllWantedFilesInOnePass() throws IOException {
        proc.process(7)
                .arguments("python", "-f", "/run/kernel-one.json", "--other=kernel-two.json", "kernel-four.json");
        var result = search(Set.of(FILE, "kernel-two.json", "kernel-three.json"));
        assertThat(result.files()).containsExactlyInAnyOrder(FILE, "kernel-two.json");
        assertThat(result.unsearched()).isEmpty();
    }

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
        var result = searchInSteps(16, Set.of(FILE));
        assertThat(result.files()).isEmpty();
        assertThat(result.unsearched())
                .isEqualTo("process 103 of uid 61002: the search reached its limit (and 6 more)");
    }

    @Test
    void stopsAtItsTimeLimit() throws IOException {
        proc.process(100).arguments("python", "-f", FILE);
        var late = new KernelSearch(files, () -> nanos.getAndAdd(KernelSearch.TIME.toNanos()));
        var result = late.search(Set.of(FILE), Set.of());
        assertThat(result.files()).isEmpty();
        assertThat(result.unsearched()).isEqualTo("process 100: the search reached its limit");
    }

    private Kernels search(Set<String> wanted) throws IOException {
        return new KernelSearch(files, nanos::get).search(wanted, Set.of(OWNER));
    }

    /** Searches by a clock that has this many steps before the time is used up, one at each look. */
    private Kernels searchInSteps(int steps, Set<String> wanted) throws IOException {
        var step = KernelSearch.TIME.toNanos() / steps;
        return new KernelSearch(files, () -> nanos.getAndAdd(step)).search(wanted, Set.of(OWNER));
    }
}
