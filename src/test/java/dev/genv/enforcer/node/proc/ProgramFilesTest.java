package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which program a process runs. The host's root directory is a fake one, with files of root's in it; {@code /opt/server} is protected. */
class ProgramFilesTest {
    private final FakeProc proc;
    private final ProcFs procFs;
    private final ProcessReader reader;
    private final Path host;

    ProgramFilesTest(@TempDir Path folder) throws IOException {
        proc = new FakeProc(folder);
        host = proc.hostRoot();
        procFs = new ProcFs(folder);
        reader = new ProcessReader(procFs);
    }

    private Path file(String name) throws IOException {
        Requirements.root();
        var file = host.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, name);
    }

    private Reading<ProgramFile> server() {
        return new ProgramFiles(procFs, List.of(Path.of("/opt/server"))).read().getFirst();
    }

    private void assertRunsServer(int pid, boolean isExpected) {
        assertThat(server()).isInstanceOf(Reading.Value.class);
        assertThat(reader.read(pid).executable().equals(server())).isEqualTo(isExpected);
    }

    /** Only links of root's are on this way, and an absolute one stays within the host. */
    @Test
    void linksAreFollowedWithinTheHost() throws IOException {
        proc.process(812).exe(file("store/bin/server"));
        Files.createSymbolicLink(host.resolve("opt"), Path.of("/store/bin"));
        assertRunsServer(812, true);
    }

    @Test
    void programIsIdentifiedByItsFileAndNotItsName() throws IOException {
        proc.process(812).exe(file("opt/server"));
        assertRunsServer(812, true);
        proc.process(813).exe(file("home/opt/server"));
        assertRunsServer(813, false);
        proc.process(814).exe(Files.createLink(host.resolve("opt/other"), host.resolve("opt/server")));
        assertRunsServer(814, true);
    }

    /** Who lets his first thread end has no program there any more; it must not become a shield. */
    @Test
    void readsTheProgramFromAnotherThreadWhenTheFirstHasExited() throws IOException {
        var program = file("opt/server");
        proc.process(812).thread(812);
        proc.process(812).thread(813).exe(Path.of("/no/such/sleep"));
        assertThat(reader.read(812).executable())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.UNTRUSTED));
        proc.process(820).thread(820);
        proc.process(820).thread(821).exe(program);
        assertRunsServer(820, true);
    }

    /** The kernel does not tell a name of more than 4096 bytes, and users can make one; here there is no link at all. */
    @Test
    void identifiesProgramWithoutPathByItsFile() throws IOException {
        Files.createLink(proc.process(812).file("exe"), file("opt/server"));
        Files.writeString(proc.process(813).file("exe"), "another");
        assertRunsServer(812, true);
        assertRunsServer(813, false);
    }

    /** The kernel answers from its cache, so a program is examined although every thread waits for a process that hangs. */
    @Test
    void identifiesProgramWhenNoThreadIsLeft() throws Exception {
        proc.process(812).exe(file("opt/server"));
        var pipes = new ArrayList<Path>();
        for (var pid = 1000; reader.read(812).environ() instanceof Reading.Value; pid++) {
            var environ = proc.process(pid).uid(pid).file("environ");
            Files.delete(environ);
            pipes.add(Programs.fifo(environ));
            assertThat(reader.read(pid).environ()).isInstanceOf(Reading.Failed.class);
        }
        assertThat(reader.read(812).environ())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.NO_TIME));
        assertRunsServer(812, true);
        for (var pipe : pipes) {
            Files.newOutputStream(pipe).close();
        }
    }
}
