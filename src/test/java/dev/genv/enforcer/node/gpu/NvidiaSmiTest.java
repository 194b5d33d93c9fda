package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

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

/** What is read of the output of nvidia-smi, its failures, and when the devices are queried again. */
@Timeout(600)
class NvidiaSmiTest {
    /** A process that runs: the fake one, like the driver, lists no other. */
    private static final int PID = (int) ProcessHandle.current().pid();

    private static final String QUERY_DEVICES = "--query-gpu=index,uuid,memory.used";
    private static final String QUERY_PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private static final String QUERY_STATUS =
            "--query-gpu=index,memory.used,memory.total,temperature.gpu,utilization.gpu,power.draw,name";
    private static final String STATUS = "0, 1700, 16384, 61, 87, [N/A], [N/A]\n";
    private static final String COUNT = "echo \"$1\" >>\"$0.calls\"; ";

    private final FakeNvidiaSmi fake;
    private final NvidiaSmi smi;

    NvidiaSmiTest(@TempDir Path folder) throws IOException {
        fake = new FakeNvidiaSmi(folder.resolve("bin"));
        smi = new NvidiaSmi(fake.path().toString(), HANG);
    }

    @Test
    void queriesTheDevicesOnceUnlessTheirMemoryMustBeCurrent() throws Exception {
        fake.gpus(1).fault(COUNT);
        assertThat(smi.read(false).devicesAreCurrent()).isTrue();
        assertThat(smi.read(false).devicesAreCurrent()).isFalse();
        smi.forgetDevices();
        assertThat(smi.read(false).devicesAreCurrent()).isTrue();
        assertThat(calls())
                .containsExactly(QUERY_PROCESSES, QUERY_DEVICES, QUERY_PROCESSES, QUERY_PROCESSES, QUERY_DEVICES);
    }

    @Test
    void queriesTheDevicesAgainWheneverTheyMayBeOthers() throws Exception {
        fake.gpus(1);
        assertQueriesDevices(true, false);
        fake.gpus(2).process(1, PID, "5"); // on an unknown device
        assertQueriesDevices(true, false);
        fake.gpus(1).noProcesses(); // a process that is no longer listed may have gone with its device
        assertQueriesDevices(true, true);
        fake.gpus(2);
        assertQueriesDevices(true, false);
        fake.fault("exit 9");
        smi.read(false);
        fake.noFault();
        assertQueriesDevices(true, false);
    }

    /** The list of devices is kept, and what is wrong with it must not look mended meanwhile. */
    @Test
    void queriesTheDevicesAgainWhileOneIsLost() throws Exception {
        fake.gpuLines("0, a, 1\n1, [GPU is lost], [GPU is lost]\n");
        assertQueriesDevices(true, true);
    }

    private void assertQueriesDevices(Boolean... inEachReading) throws Exception {
        for (var each : inEachReading) {
            assertThat(smi.read(false).devicesAreCurrent()).isEqualTo(each);
        }
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(fake.path().resolveSibling("nvidia-smi.calls"));
    }

    @Test
    void statusIsQueriedInEveryReadingBeforeTheOthers() throws Exception {
        fake.gpus(1).status(STATUS);
        fake.fault(COUNT);
        var withStatus = new NvidiaSmi(fake.path().toString(), HANG);
        assertThat(text(withStatus.read(true).status())).isEqualTo(STATUS);
        assertThat(text(withStatus.read(true).status())).isEqualTo(STATUS);
        assertThat(calls())
                .hasSize(5)
                .satisfies(calls -> assertThat(calls.getFirst()).isEqualTo(QUERY_STATUS))
                .filteredOn(QUERY_STATUS::equals)
                .hasSize(2);
    }

    @Test
    void aDriverThatDoesNotKnowAFieldStillAnswersTheOtherQueries() throws Exception {
        fake.gpus(1).status(STATUS);
        fake.fault(
                "case $1 in *temperature*) echo 'Field \"temperature.gpu\" is not a valid field to query.'; exit 2 ;;"
                        + " esac");
        var facts = new NvidiaSmi(fake.path().toString(), HANG).read(true);
        assertThat(exitCode(facts.status())).isEqualTo(2);
        assertThat(exitCode(facts.processes())).isZero();
        assertThat(exitCode(facts.devices())).isZero();
    }

    private static int exitCode(Reading<ToolOutput> answer) {
        return ((Reading.Value<ToolOutput>) answer).value().exitCode();
    }

    @Test
    void statusIsNotQueriedForAWhileAfterAHang() throws Exception {
        var nanos = new AtomicLong();
        fake.gpus(1).status(STATUS);
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
        assertThat(text(query.read())).isEqualTo(STATUS);
    }

    private static String text(Reading<ToolOutput> reading) {
        assertThat(reading).isInstanceOf(Reading.Value.class);
        return ((Reading.Value<ToolOutput>) reading).value().stdout().text();
    }
}
