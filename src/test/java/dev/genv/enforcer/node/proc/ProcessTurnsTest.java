package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ProcessTurnsTest {
    private static final Duration FAST = Duration.ofMillis(1);
    private static final Duration SLOW = Duration.ofMillis(50);
    private long nanos;

    /** The pids from 1000 on are Alice's. All of Bob's processes together take less time than one of hers. */
    @Test
    void slowProcessesDelayOnlyThoseOfTheirOwner() {
        var pids = new ArrayList<Integer>();
        IntStream.range(1000, 1700).forEach(pids::add);
        IntStream.range(1, 31).forEach(pids::add);
        var inTime = read(pids, pid -> pid >= 1000 ? SLOW : FAST);
        assertThat(inTime).startsWith(1000).containsAll(pids.subList(700, 730));
        assertThat(inTime.indexOf(30)).isLessThan(inTime.indexOf(1001));
        assertThat(inTime).hasSize(30 + 80); // 3970 ms are left for hers, and the last one may exceed them
    }

    @Test
    void ownersWhoseProcessesTakeNoTimeTakeTurns() {
        assertThat(read(List.of(1001, 1002, 1003, 2001, 2002), _ -> Duration.ZERO))
                .containsExactly(1001, 2001, 1002, 2002, 1003);
    }

    /** Returns the pids that are read in time, in their order. */
    private List<Integer> read(List<Integer> pids, IntFunction<Duration> time) {
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
}
