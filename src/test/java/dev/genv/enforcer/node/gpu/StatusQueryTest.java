package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.node.gpu.NvidiaSmi.StatusQuery;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The query for what is measured on the GPUs. */
@Timeout(600)
class StatusQueryTest {
    private static final String QUERY = "--query-gpu=index,memory.used,memory.total,temperature.gpu,utilization.gpu";
    private static final String LINES = "0, 1700, 16384, 61, 87\n";
    private static final String COUNT = "echo \"$1\" >>\"$0.calls\"; ";

    private final AtomicLong nanos = new AtomicLong();
    private final FakeNvidiaSmi fake;

    StatusQueryTest(@TempDir Path folder) throws IOException {
        fake = new FakeNvidiaSmi(folder.resolve("bin")).gpus(1).status(LINES);
    }

    @Test
    void isMadeInEveryReadingAndBeforeTheOthers() throws Exception {
        fake.fault(COUNT);
        var smi = NvidiaSmi.withStatus(fake.path().toString(), HANG);
        assertThat(text(smi.read().status())).isEqualTo(LINES);
        assertThat(text(smi.read().status())).isEqualTo(LINES);
        assertThat(calls())
                .hasSize(5)
                .satisfies(calls -> assertThat(calls.getFirst()).isEqualTo(QUERY))
                .filteredOn(QUERY::equals)
                .hasSize(2);
    }

    @Test
    void isNotMadeUnlessItIsAskedFor() throws Exception {
        fake.fault(COUNT);
        var smi = new NvidiaSmi(fake.path().toString(), HANG);
        assertThat(smi.read().status()).isSameAs(GpuFacts.NOT_ASKED);
        assertThat(calls()).doesNotContain(QUERY);
    }

    @Test
    void aDriverThatDoesNotKnowAFieldStillAnswersTheOtherQueries() throws Exception {
        fake.fault(
                "case $1 in *temperature*) echo 'Field \"temperature.gpu\" is not a valid field to query.'; exit 2 ;;"
                        + " esac");
        var facts = NvidiaSmi.withStatus(fake.path().toString(), HANG).read();
        assertThat(exitCode(facts.status())).isEqualTo(2);
        assertThat(exitCode(facts.processes())).isZero();
        assertThat(exitCode(facts.devices())).isZero();
    }

    private static int exitCode(Reading<ToolOutput> answer) {
        return ((Reading.Value<ToolOutput>) answer).value().exitCode();
    }

    /** The other queries report why nvidia-smi does not work. */
    @Test
    void isNotReportedIfTheOtherQueriesFail() throws Exception {
        fake.fault("exit 9");
        assertThat(NvidiaSmi.withStatus(fake.path().toString(), HANG).read().status())
                .isSameAs(GpuFacts.NOT_ASKED);
    }

    @Test
    void isNotMadeForAWhileAfterAHang() throws Exception {
        fake.fault(COUNT + "exec sleep 600");
        // The fake clock passes the time limit with every look at it.
        var query = new StatusQuery(
                fake.path().toString(),
                Duration.ofMillis(200),
                () -> nanos.getAndAdd(Duration.ofMillis(200).toNanos()));
        var failure = query.read();
        assertThat(failure)
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.reason()).contains("did not exit within 200 ms"));
        assertThat(query.read()).isSameAs(failure);
        assertThat(calls()).hasSize(1);
        fake.fault(COUNT);
        nanos.addAndGet(StatusQuery.PAUSE.toNanos());
        assertThat(text(query.read())).isEqualTo(LINES);
    }

    @Test
    void isMadeAgainAfterAFailureThatTookNoTime() throws Exception {
        var query = new StatusQuery(fake.path().resolveSibling("none").toString(), HANG, nanos::get);
        assertThat(query.read()).isInstanceOf(Reading.Failed.class);
        Files.copy(fake.path(), fake.path().resolveSibling("none"));
        fake.status(LINES);
        Files.copy(fake.path().resolveSibling("nvidia-smi.gpus"), fake.path().resolveSibling("none.gpus"));
        assertThat(text(query.read())).startsWith("0, ");
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(fake.path().resolveSibling("nvidia-smi.calls"));
    }

    private static String text(Reading<ToolOutput> reading) {
        assertThat(reading).isInstanceOf(Reading.Value.class);
        return ((Reading.Value<ToolOutput>) reading).value().stdout().text();
    }
}
