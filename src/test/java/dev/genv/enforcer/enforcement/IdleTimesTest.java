package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Gate.Enforcement;
import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Device.HostDevice;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Fleet.Idleness;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A cycle every ten seconds, of a host with one device that is attached to the environment a. */
class IdleTimesTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final HostDevice DEVICE = new HostDevice("here", 0);
    private static final Appearances.Key ATTACHMENT = new Appearances.Key("here", "a", 0);

    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(host()).setMachine("machine boot");
    private History history = history();
    private long ticks = 1_000_000;
    private Idleness idleness = Idleness.NONE;

    @Test
    void countsObservedTimeWithoutUse() {
        for (var cycle = 0; cycle <= 6; cycle++) {
            observe(attached());
        }

        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ofSeconds(60));
        assertThat(idleness.quiet()).containsEntry(DEVICE, Duration.ofSeconds(60));
        assertThat(idleness.attachments()).containsEntry(ATTACHMENT, Duration.ofSeconds(60));
    }

    /** The first interval after a gap is not idle, because nothing is known of its begin. */
    @Test
    void timeInWhichTheHostCannotBeObservedDoesNotCount() {
        observe(attached());
        observe(attached());
        observe(Snapshot.unseen("here", new Problem(ProblemCode.TIMEOUT, "")));
        time.pass(Duration.ofHours(3));
        observe(attached().missing(SnapshotPart.EVERY_PROCESS));
        observe(attached());
        observe(attached());

        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ofSeconds(30));
    }

    @Test
    void useBeginsAnew() {
        observe(attached());
        observe(attached());
        observe(attached().with(process(1).uses(0)));
        assertThat(idleness.unused()).isEmpty();
        assertThat(idleness.attachments()).isEmpty();

        observe(attached());
        observe(attached());
        assertThat(idleness.unused()).containsEntry(DEVICE, INTERVAL);

        observe(attached().memoryUnexplained(0));
        assertThat(idleness.unused()).as("unexplained memory is use").isEmpty();
    }

    /** As on a GB10: {@code memory.used} is {@code [N/A]}, and nvidia-smi lists no process of a container without the host's PID namespace. */
    @Test
    void unknownMemoryStopsTheClockAndDoesNotForgetIt() {
        observe(attached(), 0);
        observe(attached(), 0);
        observe(attached().memoryUnknown(0), 0);
        assertThat(idleness.unused()).isEmpty();
        assertThat(idleness.attachments()).isEmpty();
        assertThat(idleness.quiet()).as("the utilization is known").containsEntry(DEVICE, INTERVAL.multipliedBy(2));

        observe(attached().memoryUnknown(0), 0);
        observe(attached(), 0);
        observe(attached(), 0);
        assertThat(idleness.unused()).containsEntry(DEVICE, INTERVAL.multipliedBy(3));
        assertThat(idleness.attachments()).containsEntry(ATTACHMENT, INTERVAL.multipliedBy(3));
    }

    @Test
    void memoryThatIsNotExplainedForASingleObservationIsNotUnused() {
        observe(attached());
        observe(attached());
        observe(attached().memorySuspected(0));
        assertThat(idleness.unused()).isEmpty();

        observe(attached());
        assertThat(idleness.unused()).containsEntry(DEVICE, INTERVAL.multipliedBy(2));
    }

    @Test
    void utilizationContradictsThatADeviceIsUnused() {
        for (var now : List.of(attached(), attached().memoryUnknown(0))) {
            observe(attached(), 1);
            observe(attached(), 1);
            assertThat(idleness.unused()).hasSize(1);
            observe(now, 96);
            assertThat(idleness).isEqualTo(Idleness.NONE);

            observe(attached(), 1);
            assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ZERO);
            assertThat(idleness.attachments()).containsEntry(ATTACHMENT, Duration.ZERO);
        }
    }

    @Test
    void protectedProgramsAreNoUse() {
        observe(attached().with(process(1).uses(0).immune(Immunity.Kind.PROTECTED, "it runs Xorg")));

        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ZERO);
    }

    @Test
    void anAttachmentIsNotIdleForLongerThanItExists() {
        observe(host().devices(1).with(env("b")));
        observe(host().devices(1).with(env("b")));
        observe(attached());
        observe(attached());

        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ofSeconds(30));
        assertThat(idleness.attachments()).containsEntry(ATTACHMENT, INTERVAL);
    }

    /** A file that could not be read since the start says nothing about when the environment was attached. */
    @Test
    void onlyTimeInWhichTheAttachmentsAreReadCountsForThem() {
        for (var part : List.of(SnapshotPart.ATTACHMENTS, SnapshotPart.ENVIRONMENTS)) {
            history = history();
            for (var cycle = 0; cycle < 4; cycle++) {
                observe(host().devices(1).missing(part));
            }
            observe(attached());
            assertThat(idleness.unused()).containsEntry(DEVICE, INTERVAL.multipliedBy(4));
            assertThat(idleness.attachments()).containsEntry(ATTACHMENT, Duration.ZERO);
            observe(attached());
            assertThat(idleness.attachments()).containsEntry(ATTACHMENT, INTERVAL);

            observe(host().devices(1).missing(part));
            observe(host().devices(1).missing(part));
            observe(attached());
            assertThat(idleness.attachments())
                    .as("until the observation that could not read them")
                    .containsEntry(ATTACHMENT, INTERVAL.multipliedBy(2));
        }
    }

    @Test
    void useWhileTheAttachmentsAreUnknownBeginsAnew() {
        observe(attached());
        observe(attached());
        observe(attached().missing(SnapshotPart.ATTACHMENTS).with(process(1).uses(0)));
        observe(attached());

        assertThat(idleness.attachments()).containsEntry(ATTACHMENT, Duration.ZERO);
    }

    @Test
    void anAttachmentThatWasGoneBeginsAnew() {
        observe(attached());
        observe(attached());
        observe(host().devices(1).with(env("a").user("alice")));
        observe(attached());

        assertThat(idleness.unused()).containsEntry(DEVICE, INTERVAL.multipliedBy(3));
        assertThat(idleness.attachments()).containsEntry(ATTACHMENT, Duration.ZERO);
    }

    @Test
    void aDeviceIsQuietAsLongAsEverySampleIsLow() {
        var busy = attached().with(holding());
        observe(busy, 1);
        observe(busy, 0);
        observe(busy, 1);
        assertThat(idleness.quiet()).containsEntry(DEVICE, Duration.ofSeconds(20));
        assertThat(idleness.processes()).hasSize(1).containsValue(Duration.ofSeconds(20));
        assertThat(idleness.unused()).isEmpty();

        observe(busy, 2);
        assertThat(idleness.quiet()).isEmpty();
        assertThat(idleness.processes()).isEmpty();
    }

    /** As with MIG, or if the query fails. */
    @Test
    void timeWithAnUnknownUtilizationDoesNotCount() {
        var busy = attached().with(holding());
        observe(busy, 0);
        observe(busy, 0);
        observe(busy);
        assertThat(idleness.quiet()).isEmpty();
        observe(busy);
        observe(busy, 0);

        assertThat(idleness.quiet()).containsEntry(DEVICE, Duration.ofSeconds(20));
    }

    @Test
    void aProcessThatComputesOnAnotherDeviceIsNotIdle() {
        var both = host().devices(2)
                .with(env("a").attached(0, 1))
                .with(process(1).inEnvironment("a").uses(0, 1));
        observe(both, 0, 90);
        observe(both, 0, 90);

        assertThat(idleness.quiet()).containsEntry(DEVICE, INTERVAL);
        assertThat(idleness.processes()).isEmpty();
    }

    @Test
    void aRestartContinuesAndARebootBeginsAnew() {
        observe(attached());
        observe(attached());
        var saved = history.save();
        var last = new SavedCycle(0, history.observedAt(), history.ticks(), 0, 0, Instant.EPOCH, Instant.EPOCH, 0);
        history = history();
        history.restore(saved, last, true);
        observe(attached());
        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ofSeconds(20));

        node.setMachine("machine another boot");
        observe(attached());
        assertThat(idleness.unused()).containsEntry(DEVICE, Duration.ZERO);
    }

    private static HostBuilder attached() {
        return host().devices(1).with(env("a").user("alice").attached(0));
    }

    private static GpuProcessBuilder holding() {
        return process(1).inEnvironment("a").uses(0, "1g");
    }

    private History history() {
        return new History(
                new Enforcement(ServiceMode.ENFORCE, _ -> false, true, Duration.ofSeconds(30)),
                INTERVAL,
                time.ticker());
    }

    /** Observes the host with the utilization of its devices; without one it is unknown. */
    private void observe(HostBuilder now, int... utilization) {
        var status = IntStream.range(0, utilization.length)
                .mapToObj(device -> new DeviceStatus(device, null, utilization[device], null, null, null, null))
                .toList();
        observe(node.setSnapshot(now).setTicks(ticks).setStatus(true, status).observe());
    }

    private void observe(Snapshot snapshot) {
        idleness = history.remember(new Fleet(List.of(snapshot), false), _ -> Remembered.NOTHING)
                .idleness();
        history.remember(Plan.EMPTY, (_, _) -> false);
        time.pass(INTERVAL);
        ticks += 1000;
    }
}
