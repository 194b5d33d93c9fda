package dev.genv.enforcer.recording;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FleetRecorderTest {
    private final Playback playback = new Playback();

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
}
