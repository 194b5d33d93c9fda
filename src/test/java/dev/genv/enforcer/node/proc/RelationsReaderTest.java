package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The limit of time; {@code RelationsTableTest} has which processes are read. */
class RelationsReaderTest {
    private static final int JOB = 812;

    private final AtomicLong nanos = new AtomicLong();
    private FakeProc proc;

    @BeforeEach
    void listOneProcess(@TempDir Path root) throws IOException {
        proc = new FakeProc(root);
        proc.process(JOB).environ("HOME=/").overwrite();
    }

    @Test
    void stopsWhenTheTimeIsOver() throws IOException {
        proc.process(40).session(JOB);
        var reader = new ProcessReader(new ProcFs(proc.root()));
        var relations = RelationsReader.read(
                reader,
                List.of(reader.read(JOB)),
                Set.of(),
                () -> nanos.getAndAdd(Duration.ofSeconds(1).toNanos()));
        assertThat(relations.omission()).isEqualTo(RelatedOmission.OF_ANY_USER);
        assertThat(relations.related()).isEmpty();
    }
}
