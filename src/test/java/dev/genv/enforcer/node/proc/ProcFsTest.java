package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcFsTest {
    private final FakeProc fake;
    private final ProcFs proc;

    ProcFsTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        proc = new ProcFs(folder);
    }

    @Test
    void listsNothingButPids() throws IOException {
        fake.process(1);
        fake.process(812);
        for (var other : new String[] {"self", "sys", "0", "007", "12x"}) {
            Files.createDirectory(fake.root().resolve(other));
        }
        assertThat(proc.pids()).containsExactlyInAnyOrder(1, 812);
    }

    /** As with hidepid=1: the kernel does not tell whether it exists. Here the folder is a loop of links. */
    @Test
    void processThatCannotBeExaminedIsNotGone() throws IOException {
        Files.createSymbolicLink(fake.root().resolve("812"), Path.of("812"));
        assertThatThrownBy(() -> proc.stat(812)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> proc.status(812)).isInstanceOf(IOException.class);
        assertThat(proc.statBytes(812)).isEqualTo(Reading.failed(Failure.OTHER, "Too many levels of symbolic links"));
    }
}
