package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.ProcessId;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The processes whose environ did not answer, which are skipped for a while. */
class SilentProcessesTest {
    private static final Reading<Long> ALICE = Reading.of(1000L);

    private static final Reading<EnvironFacts> ANSWER =
            Reading.of(new EnvironFacts(1, Bytes.EMPTY, "", true, Bytes.EMPTY));

    private final AtomicLong nanos = new AtomicLong(-5);
    private final HostMemory memory = new HostMemory(nanos::get);

    @Test
    void skipsOnlyTheProcessesThatDidNotAnswer() {
        record(process(1, 7, ALICE, Failure.TIMEOUT), process(2, 7, ALICE), process(3, 7, ALICE, Failure.DENIED));
        assertThat(skipped()).containsExactly(new ProcessId(1, 7));
    }

    @Test
    void skippedProcessDoesNotExtendItsPause() {
        record(process(1, 7, ALICE, Failure.TIMEOUT));
        nanos.addAndGet(Duration.ofSeconds(59).toNanos());
        for (var failure : List.of(Failure.SKIPPED, Failure.NO_TIME)) {
            record(process(1, 7, ALICE, failure));
            assertThat(skipped()).hasSize(1);
        }
        nanos.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThat(skipped()).isEmpty();
    }

    @Test
    void pauseDoesNotApplyToANewProcessWithTheSamePid() {
        record(process(1, 3, ALICE, Failure.TIMEOUT));
        record(process(1, 7, ALICE, Failure.SKIPPED));
        assertThat(skipped()).isEmpty();
    }

    @Test
    void pauseEndsWithTheProcess() {
        record(process(1, 7, ALICE, Failure.TIMEOUT));
        record(new ProcessFacts(
                1,
                Reading.failed(Failure.OTHER, ""),
                ALICE,
                Reading.failed(Failure.SKIPPED, ""),
                Reading.failed(Failure.SKIPPED, ""),
                Reading.failed(Failure.OTHER, "")));
        assertThat(skipped()).hasSize(1);
        record(new ProcessFacts(
                1,
                Reading.failed(Failure.ABSENT, ""),
                ALICE,
                Reading.failed(Failure.ABSENT, ""),
                Reading.failed(Failure.ABSENT, ""),
                Reading.failed(Failure.ABSENT, "")));
        assertThat(skipped()).isEmpty();
    }

    private void record(ProcessFacts... processes) {
        memory.recordProcesses(List.of(processes), skipped());
    }

    private Set<ProcessId> skipped() {
        return memory.omitted().processes();
    }

    private static ProcessFacts process(int pid, int start, Reading<Long> uid) {
        return process(pid, start, uid, ANSWER);
    }

    static ProcessFacts process(int pid, int start, Reading<Long> uid, Failure failure) {
        return process(pid, start, uid, Reading.failed(failure, ""));
    }

    private static ProcessFacts process(int pid, int start, Reading<Long> uid, Reading<EnvironFacts> environ) {
        var fields = IntStream.rangeClosed(3, 52)
                .mapToObj(field -> switch (field) {
                    case 3 -> "S";
                    case 20 -> "1";
                    case 22 -> Integer.toString(start);
                    default -> "9";
                })
                .collect(Collectors.joining(" "));
        Reading<Bytes> stat =
                Reading.of(Bytes.of("%d (python) %s\n".formatted(pid, fields).getBytes(StandardCharsets.UTF_8)));
        return new ProcessFacts(pid, stat, uid, environ, Reading.failed(Failure.OTHER, ""), stat);
    }
}
