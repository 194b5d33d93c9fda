package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Process 812 of user 1000 has overwritten its environ. */
class RelationsReaderTest {
    private static final int JOB = 812;
    private static final String SCOPE = "/user.slice/user-1000.slice/session-3.scope";

    private final AtomicLong nanos = new AtomicLong();
    private FakeProc proc;

    @BeforeEach
    void listOneProcess(@TempDir Path root) throws IOException {
        proc = new FakeProc(root);
        proc.process(JOB).environ("HOME=/").overwrite();
    }

    @Test
    void readsTheAncestorsOfTheSameUser() throws IOException {
        proc.process(JOB).environ("HOME=/").overwrite().parent(30);
        proc.process(30).parent(20).environ("GENV_ENVIRONMENT_ID=a");
        proc.process(20).parent(10);
        proc.process(10).uid(1001).parent(9);
        proc.process(9);
        var relations = read(Set.of(), JOB);
        assertThat(relations.related()).extracting(ProcessFacts::pid).containsExactlyInAnyOrder(20, 30);
        assertThat(relations.omission()).isEqualTo(RelatedOmission.NONE);
        var parent = relations.related().stream()
                .filter(process -> process.pid() == 30)
                .findFirst()
                .orElseThrow();
        assertThat(parent.executable()).isEqualTo(Reading.failed(Failure.SKIPPED, ""));
        assertThat(parent.cgroup()).isEqualTo(bytes("0::/\n"));
        assertThat(parent.namespacePids()).isEqualTo(bytes("30"));
    }

    /** As Relations.of of the agent: a session of one process and the user of another one relate nothing. */
    @Test
    void relativesHaveTheUserOfTheProcessWhoseSessionOrUnitTheyShare() throws IOException {
        proc.process(JOB).environ("HOME=/").overwrite().session(40);
        proc.process(813).environ("HOME=/").overwrite().uid(1001).session(41).cgroup(SCOPE);
        proc.process(50).session(41);
        proc.process(51).session(40).uid(1001);
        proc.process(52).cgroup(SCOPE);
        proc.process(53).cgroup(SCOPE).uid(1001);
        assertThat(read(Set.of(), JOB, 813).related())
                .extracting(ProcessFacts::pid)
                .containsExactly(53);
    }

    @Test
    void ofTooManyTheLeaderAndTheUnitAreReadFirstAndLast() throws IOException {
        proc.process(JOB).environ("HOME=/").overwrite().session(9000).cgroup(SCOPE);
        proc.process(9000).session(9000);
        for (var pid = 1000; pid < 1000 + HostFacts.MOST_RELATED; pid++) {
            proc.process(pid).session(9000);
        }
        proc.process(50).cgroup(SCOPE);
        assertThat(read(Set.of(), JOB).related())
                .hasSize(HostFacts.MOST_RELATED)
                .extracting(ProcessFacts::pid)
                .contains(9000)
                .doesNotContain(50);
    }

    @Test
    void readsNothingForIntactAndSettledProcesses() throws IOException {
        var settled = Set.of(new ProcessId(JOB, 1000));
        proc.process(813).environ("HOME=/").session(JOB);
        proc.process(40).session(JOB);
        var relations = read(settled, JOB, 813);
        assertThat(relations.related()).isEmpty();
        assertThat(relations.omission()).isEqualTo(RelatedOmission.NONE);
        assertThat(relations.processes())
                .extracting(ProcessFacts::cgroup)
                .containsOnly(Reading.failed(Failure.SKIPPED, ""));
        assertThat(read(Set.of(), 813).related()).isEmpty();
        assertThat(read(Set.of(new ProcessId(JOB, 999)), JOB).related()).hasSize(2);
    }

    @Test
    void tooManyOfOneUserLeaveOutNoneOfAnother() throws IOException {
        for (var pid = 1000; pid < 1000 + HostFacts.MOST_RELATED + 1; pid++) {
            proc.process(pid).session(JOB);
        }
        proc.process(813).environ("HOME=/").overwrite().uid(1001).session(40);
        var others =
                IntStream.range(9000, 9000 + HostFacts.MOST_RELATED / 4).boxed().toList();
        for (var pid : others) {
            proc.process(pid).uid(1001).session(40);
        }
        var relations = read(Set.of(), JOB, 813);
        assertThat(relations.related())
                .hasSize(HostFacts.MOST_RELATED)
                .extracting(ProcessFacts::pid)
                .containsAll(others);
        assertThat(relations.omission()).isEqualTo(new RelatedOmission(false, Set.of(1000L)));
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

    private RelationsReader.Relations read(Set<ProcessId> settled, Integer... pids) {
        var reader = new ProcessReader(new ProcFs(proc.root()));
        var listed = Arrays.stream(pids).map(pid -> reader.read(pid)).toList();
        return RelationsReader.read(reader, listed, settled, nanos::get);
    }

    private static Reading<Bytes> bytes(String text) {
        return Reading.of(Bytes.of(text.getBytes(StandardCharsets.US_ASCII)));
    }
}
