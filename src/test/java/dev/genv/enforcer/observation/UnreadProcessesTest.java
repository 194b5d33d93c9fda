package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.observation.ListedProcesses.UnreadProcesses;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class UnreadProcessesTest {
    private static final Reading<Bytes> STAT = Reading.of(Bytes.EMPTY);
    private final UnreadProcesses unread = new UnreadProcesses();

    /** New processes, which users start at any rate, do not overtake those that wait. */
    @Test
    void thoseThatWaitTheLongestComeFirst() {
        observe(5, 6, 7);
        observe(1, 2, 6, 7);
        assertThat(unread.pids()).containsExactly(6, 7, 1, 2);
        observe(3, 2, 1);
        assertThat(unread.pids()).containsExactly(1, 2, 3);
        observe();
        assertThat(unread.pids()).isEmpty();
    }

    private void observe(int... pids) {
        unread.observe(IntStream.of(pids).mapToObj(UnreadProcessesTest::process).toList(), new Findings());
    }

    private static ProcessFacts process(int pid) {
        return new ProcessFacts(
                pid,
                STAT,
                Reading.of(1000L),
                Reading.failed(Failure.NO_TIME, "why"),
                Reading.failed(Failure.SKIPPED, ""),
                STAT);
    }
}
