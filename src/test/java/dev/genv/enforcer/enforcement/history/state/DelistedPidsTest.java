package dev.genv.enforcer.enforcement.history.state;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class DelistedPidsTest {
    private static final Duration AGE = Duration.ofHours(1);
    private static final int MANY = 2_600;
    private static final long OWNER = 1001;
    private static final long OTHER_USER = 1002;
    private static final GpuProcessBuilder JOB = process(7).uses(0);

    private final FakeTime time = new FakeTime();
    private final DelistedPids pids = new DelistedPids(time.ticker());
    private final Map<Integer, Long> uids = new HashMap<>(Map.of(7, OWNER));
    private long ticks = 1_000_000;

    @Test
    void remembersAPidThatIsNoLongerListed() {
        record(host().with(env("a").pids(7)));
        record(host());

        assertThat(pids.change(JOB.build())).isNotNull();
        assertThat(pids.change(process(8).build())).isNull();
    }

    @Test
    void ignoresAnotherProcessWithTheSamePid() {
        record(host().with(env("a").pids(7)));
        record(host());

        assertThat(pids.change(process(7).startedLaterBy(10_000_000).build())).isNull();
    }

    /** Which user struck them out is not known; the kernel knows the uids of the processes. */
    @Test
    void pidsOfOneUserDoNotDisplaceThoseOfAnother() {
        record(host().with(env("a").pids(7)));
        record(host());
        for (var round = 1; round <= 4; round++) {
            record(host().with(environmentWithManyPids(round)));
            record(host());
        }

        assertThat(pids.change(JOB.build())).isNotNull();
        assertThat(IntStream.range(MANY + 10, 2 * MANY + 10)
                        .filter(pid -> pids.change(process(pid).build()) == null)
                        .count())
                .as("of her first ones, so many are too many")
                .isEqualTo(4 * MANY + 1 - 10_000);
    }

    @Test
    void pidsOfSubordinateUidsDoNotDisplaceThoseOfAnotherUser() {
        uids.put(8, OWNER);
        record(host().with(env("a").pids(7, 8)));
        record(host());
        var theirs = IntStream.range(10, 10_010).toArray();
        IntStream.of(theirs).forEach(pid -> uids.put(pid, 200_000L + pid));
        record(host().subordinate(OTHER_USER, 200_000, 65_536).with(env("hers").pids(theirs)));
        record(host().subordinate(OTHER_USER, 200_000, 65_536));

        assertThat(pids.change(JOB.build())).isNotNull();
        assertThat(pids.change(process(8).build())).isNotNull();
    }

    /** Also if its uid is not known, and if it was struck out long ago. */
    @Test
    void keepsThePidOfAProcessOnAGpu() {
        uids.remove(7);
        record(host().with(env("a").pids(7)).with(JOB));
        record(host().with(JOB));
        for (var round = 1; round <= 8; round++) {
            time.pass(AGE);
            record(host().with(environmentWithManyPids(round)).with(JOB));
            record(host().with(JOB));
        }

        assertThat(pids.change(JOB.build())).isNotNull();
    }

    @Test
    void forgetsAPidAfterTheMaximumAge() {
        record(host().with(env("a").pids(7)));
        record(host());
        time.pass(AGE.plusSeconds(1));
        record(host());

        assertThat(pids.change(JOB.build())).isNull();
    }

    private EnvBuilder environmentWithManyPids(int round) {
        var hers = IntStream.range(MANY * round + 10, MANY * (round + 1) + 10).toArray();
        IntStream.of(hers).forEach(pid -> uids.put(pid, OTHER_USER));
        return env("hers").pids(hers);
    }

    private void record(HostBuilder host) {
        var seen = host.snapshot();
        var snapshot = new Snapshot(
                seen.host(),
                seen.processes(),
                seen.unlisted(),
                seen.environments(),
                seen.devices(),
                seen.listedDevices(),
                uids,
                seen.subordinateUids(),
                seen.missing(),
                seen.problems());
        pids.record(snapshot, ticks);
        pids.forget(AGE, snapshot.processes().stream().map(GpuProcess::pid).collect(Collectors.toSet()));
        ticks += 1_000;
    }
}
