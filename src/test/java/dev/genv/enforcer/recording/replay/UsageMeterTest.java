package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.recording.Playback;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class UsageMeterTest {
    private static final Instant FIRST = Playback.BEGIN.plus(Playback.INTERVAL);
    private static final Instant LATE = Playback.BEGIN.plus(Duration.ofDays(365));

    private final Playback past = new Playback();

    @Test
    void countsHeldAndUsedDevicesOfEachUser() {
        observe(
                60,
                host().devices(4)
                        .with(
                                env("1").attached(0, 1),
                                env("2").user("alice").uid(1001).attached(2))
                        .with(
                                process(1).inEnvironment("1").uses(0),
                                process(2).inEnvironment("2").uses(2, 3))
                        .snapshot());

        assertThat(time("raz")).isEqualTo(minutes(20, 10));
        assertThat(time("alice")).isEqualTo(minutes(10, 20));
        assertThat(usage().observed()).isEqualTo(Duration.ofMinutes(10));
    }

    @Test
    void deviceOfSeveralEnvironmentsAndProcessesOfOneUserCountsOnce() {
        observe(
                60,
                host().devices(1)
                        .with(env("1").attached(0), env("2").attached(0))
                        .with(
                                process(1).inEnvironment("1").uses(0),
                                process(2).inEnvironment("2").uses(0))
                        .snapshot());

        assertThat(time("raz")).isEqualTo(minutes(10, 10));
    }

    @Test
    void attachmentToADeviceThatDoesNotExistIsNotHeld() {
        observe(6, host().devices(2).unlisted(1).with(env("1").attached(1)).snapshot());

        assertThat(usage().byUser()).isEmpty();
    }

    @Test
    void disputedEnvironmentIsOfNoUser() {
        observe(
                6,
                host().devices(1).with(env("1").disputed("by two").attached(0)).snapshot());

        assertThat(usage().byUser()).containsOnlyKeys(Optional.empty());
    }

    @Test
    void processOutsideOfEnvironmentsUsesDevicesForItsUid() {
        observe(6, host().devices(1).with(process(1).uid(1234).uses(0)).snapshot());

        assertThat(time("1234")).isEqualTo(minutes(0, 1));
    }

    @Test
    void protectedProgramUsesNothing() {
        observe(
                6,
                host().devices(1)
                        .with(process(1)
                                .uid(0)
                                .immune(Immunity.Kind.PROTECTED, "it runs Xorg")
                                .uses(0))
                        .snapshot());

        assertThat(usage().byUser()).isEmpty();
    }

    @Test
    void timeWithoutTheServiceIsNotCounted() {
        var held = host().devices(1).with(env("1").attached(0)).snapshot();
        observe(6, held);
        past.waits(Duration.ofHours(5));
        observe(7, held); // the first of these ends the gap

        assertThat(time("raz").held()).isEqualTo(Duration.ofMinutes(2));
        assertThat(usage().observed()).isEqualTo(Duration.ofMinutes(2));
    }

    @Test
    void timeInWhichAPartWasNotObservedIsNotCounted() {
        var held = host().devices(1).with(env("1").attached(0));
        observe(6, held.snapshot());
        observe(
                30,
                host().devices(1)
                        .with(env("1").attached(0))
                        .missing(SnapshotPart.ATTACHMENTS)
                        .snapshot());
        observe(7, held.snapshot());

        assertThat(usage().observed()).isEqualTo(Duration.ofSeconds(130));
        assertThat(time("raz").held()).isEqualTo(Duration.ofSeconds(130));
    }

    @Test
    void hostThatIsNoLongerInTheListIsNotCounted() {
        past.cycle(
                host("a").devices(1).with(env("1").attached(0)).snapshot(),
                host("b").snapshot());
        IntStream.range(0, 12).forEach(_ -> past.cycle(host("b").snapshot()));

        var usage = meter(FIRST, LATE);

        assertThat(Objects.requireNonNull(usage.get("a")).observed()).isEqualTo(Playback.INTERVAL);
        assertThat(Objects.requireNonNull(usage.get("b")).observed()).isEqualTo(Duration.ofSeconds(70));
    }

    @Test
    void processOfAnAccountIsTheAccountsBeforeAndAfterItsEnvironment() {
        var stray = process(9).uid(1000).uses(1);
        observe(60, host().devices(2).with(stray).snapshot());
        observe(
                60,
                host().devices(2)
                        .with(env("1").user("john").uid(1000).account().attached(0))
                        .with(stray)
                        .snapshot());
        observe(60, host().devices(2).with(stray).snapshot());

        assertThat(usage().byUser()).containsOnlyKeys(Optional.of("john"));
        assertThat(time("john").used()).isEqualTo(Duration.ofMinutes(30));
    }

    @Test
    void processOfASubordinateUidIsItsAccounts() {
        observe(
                60,
                host().devices(1)
                        .with(env("1").user("john").uid(1000).account().attached(0))
                        .subordinate(1000, 100_000, 65_536)
                        .with(process(9).uid(100_033).uses(0))
                        .snapshot());

        assertThat(time("john")).isEqualTo(minutes(10, 10));
    }

    @Test
    void holderThatIsNotListedUsesTheDevicesThatItProvesToUse() {
        var holder = new Unlisted.Holder(
                process(5).uid(1001).usesUnknown(0).usesUnknown(1).build(), 1, List.of(1));
        observe(60, host().devices(2).snapshot().with(new Unlisted(Map.of(), List.of(holder))));
        past.cycle(host().devices(2).snapshot());

        assertThat(time("1001").used()).isGreaterThanOrEqualTo(Duration.ofMinutes(10));
    }

    @Test
    void countsOnlyTheTimeBetweenTheInstants() {
        observe(60, host().devices(1).with(env("1").attached(0)).snapshot());

        var usage = meter(FIRST.plusSeconds(90), FIRST.plusSeconds(150)).get("here");

        assertThat(Objects.requireNonNull(usage).observed()).isEqualTo(Duration.ofMinutes(1));
        assertThat(meter(LATE, LATE.plusSeconds(1))).isEmpty();
    }

    @Test
    void longNamesAreReplacedByTheirDigest() {
        observe(
                6,
                host().devices(1)
                        .with(env("1").user("x".repeat(4_096)).attached(0))
                        .snapshot());

        assertThat(usage().byUser().keySet())
                .singleElement()
                .satisfies(user ->
                        assertThat(user.orElseThrow()).startsWith("sha256:").hasSizeLessThan(100));
    }

    @Test
    void namesAboveTheLargestNumberAreCountedTogether() {
        var environments = IntStream.range(0, UsageMeter.MAX_ENTRIES + 50)
                .mapToObj(number -> env("e" + number).user("u" + number).attached(0))
                .toArray(EnvBuilder[]::new);
        var meter = new UsageMeter(FIRST, LATE, new UserNames());
        var snapshot = host().devices(1).with(environments).snapshot();
        new Playback().cycle(snapshot);
        meter.add(cycle(snapshot, Duration.ZERO));
        meter.add(cycle(snapshot, Duration.ofSeconds(10)));

        var byUser = Objects.requireNonNull(meter.finish().get("here")).byUser();

        assertThat(byUser).hasSize(UsageMeter.MAX_ENTRIES + 1);
        assertThat(Objects.requireNonNull(byUser.get(Optional.empty())).held()).isEqualTo(Duration.ofSeconds(500));
    }

    private static RecordedCycle cycle(Snapshot snapshot, Duration since) {
        return new RecordedCycle(FIRST.plus(since), since, 1, Set.of("here"), Map.of("here", snapshot));
    }

    /** Observes this for a number of cycles, and the same once more, so that the last of them lasts until then. */
    private void observe(int cycles, Snapshot snapshot) {
        IntStream.range(0, cycles).forEach(_ -> past.cycle(snapshot));
        past.cycle(snapshot.withProcesses(List.of()));
    }

    private UsageMeter.Usage usage() {
        return Objects.requireNonNull(meter(FIRST, LATE).get("here"));
    }

    private DeviceTime time(String user) {
        return Objects.requireNonNull(usage().byUser().get(Optional.of(user)));
    }

    private Map<String, UsageMeter.Usage> meter(Instant from, Instant to) {
        var meter = new UsageMeter(from, to, new UserNames());
        past.cycles.forEach(meter::add);
        return meter.finish();
    }

    private static DeviceTime minutes(long held, long used) {
        return new DeviceTime(Duration.ofMinutes(held), Duration.ofMinutes(used));
    }
}
