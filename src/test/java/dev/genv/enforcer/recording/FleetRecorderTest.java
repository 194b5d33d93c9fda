package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.model.device.Attachment;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.device.MigInstance;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.model.user.Ownership;
import dev.genv.enforcer.model.user.SubordinateUids;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FleetRecorderTest {
    private static final String HOSTILE = "a\u202e\"\\\n\u0000\ud83d é";

    private final Playback playback = new Playback();

    @Test
    void recordsEveryFieldOfASnapshotExceptItsProblems() {
        var snapshot = everything();
        playback.cycle(snapshot);

        var back = playback.snapshot("gpu-1");

        assertThat(back).usingRecursiveComparison().ignoringFields("problems").isEqualTo(snapshot);
        assertThat(back.problems()).isEmpty();
    }

    /** A component that is added to one of these must be recorded too, or be known to be no part of a decision. */
    @Test
    void knowsTheComponentsOfWhatItRecords() {
        assertThat(components(Snapshot.class))
                .containsExactly(
                        "host",
                        "processes",
                        "unlisted",
                        "environments",
                        "devices",
                        "listedDevices",
                        "uidsOfPids",
                        "subordinateUids",
                        "missing",
                        "problems");
        assertThat(components(GpuProcess.class))
                .containsExactly("id", "uid", "command", "membership", "membershipBy", "usage", "immunity", "workload");
        assertThat(components(Unlisted.Holder.class)).containsExactly("process", "since", "used");
        assertThat(components(Environment.class))
                .containsExactly("eid", "uid", "username", "creation", "config", "pids", "kernelIds", "ownership");
        assertThat(components(Ownership.class)).containsExactly("dispute", "exempt", "uids", "shellStart", "isAccount");
        assertThat(components(DeviceUsage.class)).containsExactly("device", "memory", "instances");
        assertThat(components(Attachment.class)).containsExactly("eid", "gpuMemory", "time");
    }

    @Test
    void recordsNothingWhileNothingChangesExceptOnceAMinute() {
        var same = node("100mi").snapshot();
        playback.cycle(same);
        var afterFirst = playback.bytes();
        IntStream.range(0, 60).forEach(_ -> playback.cycle(same));

        assertThat(playback.cycles).hasSize(11);
        assertThat(playback.last().cycles()).isEqualTo(6);
        assertThat(playback.last().since()).isEqualTo(Duration.ofMinutes(1));
        assertThat(playback.last().changed()).isEmpty();
        assertThat(playback.bytes() - afterFirst).isLessThan(1_200);
    }

    @Test
    void leavesOutSmallChangesOfMemory() {
        playback.cycle(node("1000mi").snapshot()).cycle(node("1064mi").snapshot());
        assertThat(playback.cycles).hasSize(1);

        playback.cycle(node("1101mi").snapshot());
        assertThat(playback.cycles).hasSize(2);
        assertThat(memory()).isEqualTo(Memory.ofMebibytes(1101));
    }

    @Test
    void recordsTheSmallestChangeThatExceedsTheCapacity() {
        playback.cycle(node("2000mi", "2000mi").snapshot())
                .cycle(node("2001mi", "2000mi").snapshot());

        assertThat(memory()).isEqualTo(Memory.ofMebibytes(2001));
    }

    @Test
    void recordsTheSmallestChangeBackToTheCapacity() {
        playback.cycle(node("2001mi", "2000mi").snapshot())
                .cycle(node("2000mi", "2000mi").snapshot());

        assertThat(memory()).isEqualTo(Memory.ofMebibytes(2000));
    }

    @Test
    void doesNotRepeatTheStateOfAHostThatAnswersAgain() {
        var before = node("100mi").snapshot();
        playback.cycle(before).cycle(unreachable());
        assertThat(playback.snapshot("gpu-1").processes()).isEmpty();
        assertThat(playback.snapshot("gpu-1").missing()).containsExactlyInAnyOrder(SnapshotPart.values());
        var bytes = playback.bytes();

        playback.cycle(before);

        assertThat(playback.snapshot("gpu-1").processes()).isEqualTo(before.processes());
        assertThat(playback.bytes() - bytes).isLessThan(250);
    }

    @Test
    void forgetsAHostThatIsNoLongerInTheList() {
        playback.cycle(host("a").snapshot(), host("b").snapshot())
                .cycle(host("b").snapshot());

        assertThat(playback.last().changed()).containsExactly("a");
        assertThat(playback.snapshots()).containsOnlyKeys("b");
    }

    @Test
    void repeatsTheWholeStateInANewSegment() {
        playback.cycle(node("100mi").snapshot());
        playback.recorder.beginSegment();
        var later = new Playback().losing(_ -> false);
        var lines =
                playback.recorder.record(Playback.BEGIN, List.of(node("100mi").snapshot()), 1);
        assertThat(lines)
                .extracting(RecordedLine::type)
                .containsExactly(RecordType.HOST_OBSERVED, RecordType.CYCLE_OBSERVED);

        lines.forEach(later::play);

        assertThat(later.snapshot("gpu-1").processes()).hasSize(1);
    }

    @Test
    void hostCountsAsNotObservedAfterALostRecordUntilItsWholeStateIsRecorded() {
        var number = new int[1];
        var lossy = new Playback().losing(line -> line.type() == RecordType.HOST_OBSERVED && number[0]++ == 1);
        lossy.cycle(node("100mi").snapshot())
                .cycle(node("500mi").snapshot())
                .cycle(node("900mi").snapshot());
        assertThat(lossy.snapshot("gpu-1").has(SnapshotPart.PROCESSES)).isFalse();

        lossy.waits(HostRecorder.LONGEST_WITHOUT_STATE).cycle(node("900mi").snapshot());

        assertThat(lossy.snapshot("gpu-1").isComplete()).isTrue();
    }

    @Test
    void timeInWhichTheServiceDidNotRunIsNotObserved() {
        var same = node("100mi").snapshot();
        playback.cycle(same).waits(Duration.ofMinutes(2)).cycle(same);
        assertThat(playback.last().since()).isZero();

        playback.recorder.restart();
        playback.cycle(same);
        assertThat(playback.last().since()).isZero();
    }

    @Test
    void timeIsNotObservedWhereTheClockWasSetBack() {
        playback.cycle(node("100mi").snapshot())
                .waits(Duration.ofHours(-1))
                .cycle(node("500mi").snapshot());

        assertThat(playback.last().since()).isZero();
    }

    @Test
    void hostThatIsTooLargeIsNotRecordedUntilItIsSmaller() {
        playback.cycle(node("100mi").snapshot()).cycle(large(4_000));
        assertThat(playback.snapshot("gpu-1").isComplete()).isFalse();

        playback.cycle(node("100mi").snapshot());

        assertThat(playback.snapshot("gpu-1").isComplete()).isTrue();
    }

    @Test
    void hostThatChangesTooMuchIsRecordedAgainLater() {
        for (var cycle = 0; cycle < 400; cycle++) {
            playback.cycle(large(cycle % 2 == 0 ? 200 : 300));
        }
        assertThat(playback.snapshot("gpu-1").isComplete()).isFalse();
        assertThat(playback.bytes()).isLessThan(ByteBudget.LARGEST + 70 * ByteBudget.PER_MINUTE);

        playback.waits(Duration.ofHours(1)).cycle(large(200));
        assertThat(playback.snapshot("gpu-1").environments()).hasSize(200);
    }

    private @Nullable Memory memory() {
        return playback.snapshot("gpu-1").processes().getFirst().memoryOn(0);
    }

    private static HostBuilder node(String memory) {
        return host("gpu-1")
                .devices(2)
                .with(env("7").attached(0))
                .with(process(1).inEnvironment("7").uses(0, memory));
    }

    private static HostBuilder node(String memory, String capacity) {
        return host("gpu-1")
                .devices(2)
                .with(env("7").attached(0).capacity(capacity))
                .with(process(1).inEnvironment("7").uses(0, memory));
    }

    private static Snapshot large(int environments) {
        var all = new ArrayList<EnvBuilder>();
        for (var number = 0; number < environments; number++) {
            all.add(env("environment-" + environments + "-" + "x".repeat(300) + number));
        }
        return host("gpu-1").devices(1).with(all.toArray(EnvBuilder[]::new)).snapshot();
    }

    private static Snapshot unreachable() {
        return Snapshot.unseen("gpu-1", new Problem(ProblemCode.UNREACHABLE, "no answer"));
    }

    private static List<String> components(Class<?> type) {
        return Arrays.stream(type.getRecordComponents())
                .map(component -> component.getName())
                .toList();
    }

    private static Snapshot everything() {
        var mig = new DeviceUsage(1, null, List.of(new MigInstance(3, 0), new MigInstance(4, 1)));
        var immune = new Immunity(Immunity.Kind.EXEMPT, HOSTILE);
        var processes = List.of(
                new GpuProcess(
                        new ProcessId(1, 9_007_199_254_740_993L),
                        4_294_967_295L,
                        HOSTILE,
                        new Membership.InEnvironment(HOSTILE),
                        MembershipSource.ANCESTOR,
                        List.of(new DeviceUsage(0, new Memory(Long.MAX_VALUE)), mig),
                        immune),
                new GpuProcess(new ProcessId(2, 0), null, "", new Membership.Outside(), List.of(), null),
                new GpuProcess(new ProcessId(3, 5), 0L, "c", new Membership.Unknown(HOSTILE, true), List.of(), null),
                new GpuProcess(new ProcessId(4, 5), 0L, "c", Membership.NOT_PERMITTED, List.of(mig), null));
        var environments = List.of(
                new Environment(
                        HOSTILE,
                        1000L,
                        HOSTILE,
                        "20/11/2026 09:22:28",
                        new Environment.Config(HOSTILE, "4g", 2),
                        List.of(1, -5, 7),
                        List.of("k1", HOSTILE),
                        new Ownership(HOSTILE, true, Set.of(1000L, 1001L), 77L, true)),
                new Environment("b", null, null, "", new Environment.Config(null, null, null), List.of(), List.of()));
        var devices = List.of(
                new Device(
                        0, "15258mi", List.of(new Attachment(HOSTILE, "1g", HOSTILE), new Attachment("b", null, null))),
                new Device(1, null, List.of()));
        return new Snapshot(
                "gpu-1",
                processes,
                new Unlisted(
                        Map.of(),
                        List.of(new Unlisted.Holder(
                                new GpuProcess(
                                        new ProcessId(9, 8),
                                        7L,
                                        HOSTILE,
                                        new Membership.Outside(),
                                        List.of(new DeviceUsage(1, null)),
                                        immune),
                                77,
                                List.of(1, 2)))),
                environments,
                devices,
                Set.of(0, 5),
                Map.of(1, 1000L, 7, 0L),
                new SubordinateUids(List.of(new SubordinateUids.Range(1000, 100_000, 65_536))),
                Set.of(SnapshotPart.EVERY_PROCESS),
                List.of(new Problem(ProblemCode.GPU_LOST, "lost")));
    }
}
