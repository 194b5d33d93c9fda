package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.SplittableRandom;
import org.jboss.logging.Logger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How much a day of a host with 8 devices, 16 environments and 32 processes takes, at the default interval. */
@Tag("long")
class RecordingSizeTest {
    private static final Logger LOG = Logger.getLogger(RecordingSizeTest.class);
    private static final int CYCLES_OF_A_DAY = 24 * 60 * 6;
    private static final int DEVICES = 8;
    private static final int ENVIRONMENTS = 16;
    private static final int PROCESSES = 32;

    private final SplittableRandom random = new SplittableRandom(1);

    /** The memory of each process changes by up to 2 % in every cycle. */
    @Test
    void dayWithoutNewProcessesTakesAQuarterOfAMegabyte() {
        assertThat(bytes("steady", Integer.MAX_VALUE)).isLessThan(250_000);
    }

    /** Each process is replaced by a new one after ten minutes. */
    @Test
    void dayWithShortJobsTakesLessThanTwoMegabytes() {
        assertThat(bytes("short jobs", 60)).isLessThan(2_000_000);
    }

    private long bytes(String name, int lifetime) {
        var past = new Playback();
        for (var cycle = 0; cycle < CYCLES_OF_A_DAY; cycle++) {
            past.cycle(node(cycle, lifetime));
        }
        LOG.infof("a day of a host with %s: %d bytes in the journal", name, past.bytes());
        return past.bytes();
    }

    private Snapshot node(int cycle, int lifetime) {
        var node = HostBuilder.host("gpu-1").devices(DEVICES);
        for (var number = 0; number < ENVIRONMENTS; number++) {
            node.with(env("6760" + number).capacity("8gi").pids(67600 + number).attached(number % DEVICES));
        }
        for (var number = 0; number < PROCESSES; number++) {
            var jobs = (cycle + number) / lifetime;
            node.with(process(100_000 + number + jobs * PROCESSES)
                    .startedLaterBy(jobs)
                    .inEnvironment("6760" + number % ENVIRONMENTS)
                    .uses(number % DEVICES, 3000 + random.nextInt(60) + "mi"));
        }
        return node.snapshot();
    }
}
