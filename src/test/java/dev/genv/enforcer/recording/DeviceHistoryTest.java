package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeviceHistoryTest {
    private static final String HOST = "here";

    private final FakeTime time = new FakeTime();
    private final DeviceHistory history = new DeviceHistory(time.ticker());
    private Duration unused = Duration.ZERO;
    private Duration quiet = Duration.ZERO;

    @Test
    void keepsTheLastSampleOfEachMinuteForAnHour() {
        time.passTo(Duration.ofMinutes(10));
        observe(node().utilization(5));
        time.pass(Duration.ofSeconds(30));
        observe(node().utilization(7));
        time.pass(Duration.ofMinutes(2));
        observe(node().utilization((Integer) null));
        time.pass(Duration.ofMinutes(1));
        observe(node().utilization(0));
        assertThat(utilization()).containsExactly(7, null, null, 0);

        time.pass(Duration.ofMinutes(58));
        observe(node().utilization(100));
        assertThat(utilization()).hasSize(60).startsWith(null, 0, null).endsWith(null, 100);
        time.pass(Duration.ofHours(7));
        observe(node().utilization(1));
        assertThat(utilization()).hasSize(60).containsOnly(null, 1);

        observe(host("other"));
        assertThat(history.of(HOST, 0)).isEqualTo(DeviceHistory.Recent.UNKNOWN);
    }

    @Test
    void attachedDeviceThatComputesNothingIsIdleAndOneWithoutAttachmentIsFree() {
        observe(attached());
        assertThat(history.of(HOST, 0).idleSince()).as("it computes").isNull();

        quiet = Duration.ofMinutes(5);
        time.pass(Duration.ofHours(1));
        observe(attached());
        assertThat(history.of(HOST, 0).idleSince()).as("also with a process").isEqualTo(now().minus(quiet));
        assertThat(history.of(HOST, 0).freeSince()).isNull();

        var attached = now();
        unused = Duration.ofMinutes(15);
        time.pass(Duration.ofMinutes(10));
        observe(node().utilization(0));
        assertThat(history.of(HOST, 0).freeSince())
                .as("not while it was attached")
                .isEqualTo(attached);
        assertThat(history.of(HOST, 0).idleSince()).isNull();

        var free = now();
        quiet = Duration.ofDays(1);
        time.pass(Duration.ofMinutes(1));
        observe(attached());
        assertThat(history.of(HOST, 0).idleSince()).as("not while it was free").isEqualTo(free);

        observe(node().utilization(0).missing(SnapshotPart.ATTACHMENTS));
        assertThat(history.of(HOST, 0).freeSince())
                .as("an attachment is unknown")
                .isNull();
    }

    private static HostBuilder node() {
        return host(HOST).devices(1);
    }

    private static HostBuilder attached() {
        return node().with(env("a").attached(0)).utilization(0);
    }

    private Instant now() {
        return time.ticker().now();
    }

    private List<@Nullable Integer> utilization() {
        return history.of(HOST, 0).utilization();
    }

    private void observe(HostBuilder... hosts) {
        var snapshots = Stream.of(hosts).map(HostBuilder::snapshot).toList();
        history.accept(new CycleReport(
                now(),
                Duration.ZERO,
                CycleResult.SUCCESS,
                new Fleet(snapshots, true, now()).with(new Idleness(device(unused), device(quiet), Map.of(), Map.of())),
                Plan.EMPTY,
                List.of(),
                List.of(),
                null));
    }

    private static Map<HostDevice, Duration> device(Duration time) {
        return time.isZero() ? Map.of() : Map.of(new HostDevice(HOST, 0), time);
    }
}
