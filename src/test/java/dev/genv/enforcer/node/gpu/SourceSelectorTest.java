package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts;
import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SourceSelectorTest {
    private static final SourceSelector.Options AUTO = new SourceSelector.Options(true, true, true);
    private static final SourceSelector.Options ONLY_NVML = new SourceSelector.Options(true, false, true);
    private static final NvmlFacts SAME = listed(device(0, "GPU-0").process(812, 5L));
    private static final NvmlFacts OTHER = listed(device(0, "GPU-0").process(813, 5L));
    private static final ToolFacts TOOL = tool("GPU-0, 812, 5\n", "0, GPU-0, 16384\n");
    private static final ToolFacts NO_TOOL = new ToolFacts(
            Reading.failed(Failure.OTHER, "nvidia-smi is not in any of /bin"), Reading.failed(Failure.SKIPPED, ""));

    private final Answers<NvmlFacts> nvml = new Answers<>(SAME);
    private final Answers<ToolFacts> tool = new Answers<>(TOOL);
    private long now;

    /** A source that gives the first answers once each, and then the last one for ever. */
    private static final class Answers<T extends GpuFacts> implements GpuSource<T> {
        private final Deque<T> first = new ArrayDeque<>();
        private T last;
        private int readings;
        private int releases;

        Answers(T last) {
            this.last = last;
        }

        void give(List<? extends T> answers) {
            first.clear();
            first.addAll(answers);
            last = first.removeLast();
        }

        @Override
        public T read() {
            readings++;
            return first.isEmpty() ? last : first.removeFirst();
        }

        @Override
        public void release() {
            releases++;
        }
    }

    @Test
    void readsNvmlAloneAfterBothSourcesListedTheSame() throws Exception {
        var selector = selector(AUTO);
        for (var reading = 0; reading < 5; reading++) {
            assertThat(selector.read()).isEqualTo(new SelectedFacts(SAME, "NVML and nvidia-smi list the same", ""));
        }
        assertThat(tool.readings).isEqualTo(1);
        assertThat(nvml.readings).isEqualTo(6);
        assertThat(nvml.releases).isZero();
    }

    @Test
    void readsNvidiaSmiAloneIfTheSettingSaysSo() throws Exception {
        var selected = selector(new SourceSelector.Options(false, true, false)).read();
        assertThat(selected).isEqualTo(new SelectedFacts(TOOL, "GENV_ENFORCER_GPU_SOURCE=nvidia-smi", ""));
        assertThat(nvml.readings + nvml.releases).isZero();
    }

    @Test
    void releasesNvmlAfterEachReadingIfItIsNotHeld() throws Exception {
        var selector = selector(new SourceSelector.Options(true, true, false));
        selector.read();
        selector.read();
        assertThat(nvml.releases).isEqualTo(2);
    }

    /** A process that starts or ends between the readings. */
    @Test
    void processInOneOfTwoReadingsOfNvmlIsNoDifference() throws Exception {
        nvml.give(List.of(listed(device(0, "GPU-0").process(7, 1L)), SAME));
        assertThat(selector(AUTO).read().reason()).isEqualTo("NVML and nvidia-smi list the same");
        nvml.give(List.of(SAME, listed(device(0, "GPU-0").process(8, 1L))));
        assertThat(selector(AUTO).read().reason()).isEqualTo("NVML and nvidia-smi list the same");
    }

    @Test
    void differenceThatLastsThreeReadingsMeansNvidiaSmi() throws Exception {
        nvml.give(List.of(OTHER));
        var selector = selector(AUTO);
        for (var reading = 0; reading < 2; reading++) {
            var selected = selector.read();
            assertThat(selected.answer()).isEqualTo(TOOL);
            assertThat(selected.reason())
                    .isEqualTo("NVML is compared again: nvidia-smi lists process 812 on GPU-0, and NVML does not");
            assertThat(selected.difference()).isEmpty();
        }
        nvml.give(List.of(SAME));
        now += Duration.ofDays(1).toNanos();
        nvml.give(List.of(OTHER, OTHER, SAME));
        for (var reading = 0; reading < 3; reading++) {
            var selected = selector.read();
            assertThat(selected.answer()).isEqualTo(TOOL);
            assertThat(selected.reason()).isEqualTo("NVML is not trusted");
            assertThat(selected.difference()).contains("process 812 on GPU-0");
            now += Duration.ofDays(1).toNanos();
        }
        assertThat(nvml.readings).isEqualTo(6);
        assertThat(nvml.releases).isEqualTo(1);
    }

    /** Many short processes: users could otherwise have NVML rejected. */
    @Test
    void processesThatEndBeforeTheSecondReadingAreNoDifference() throws Exception {
        nvml.give(List.of(listed(device(0, "GPU-0"))));
        tool.give(List.of(TOOL, tool("GPU-0, 900, 5\n", "0, GPU-0, 16384\n")));
        var selector = selector(ONLY_NVML);
        assertThat(selector.read().answer()).isInstanceOf(NvmlFacts.Failed.class);
        assertThat(selector.read().reason()).isEqualTo("NVML and nvidia-smi list the same");
    }

    @Test
    void differenceThatDoesNotLastIsForgotten() throws Exception {
        nvml.give(List.of(OTHER, OTHER, OTHER, OTHER, SAME));
        var selector = selector(AUTO);
        selector.read();
        selector.read();
        assertThat(selector.read()).isEqualTo(new SelectedFacts(SAME, "NVML and nvidia-smi list the same", ""));
    }

    @Test
    void lastingDifferenceWithoutPermissionForNvidiaSmiIsAFailure() throws Exception {
        nvml.give(List.of(OTHER));
        var selector = selector(ONLY_NVML);
        for (var reading = 0; reading < 4; reading++) {
            assertThat(selector.read().answer()).isInstanceOfSatisfying(NvmlFacts.Failed.class, failed -> {
                assertThat(failed.cause()).isEqualTo(Cause.LAYOUT);
                assertThat(failed.reason()).contains("process 812 on GPU-0");
            });
        }
        assertThat(selector.read().difference()).contains("process 812 on GPU-0");
    }

    @Test
    void ownChecksAreTheProofWithoutNvidiaSmi() throws Exception {
        tool.give(List.of(NO_TOOL));
        for (var options : List.of(AUTO, ONLY_NVML)) {
            var selector = selector(options);
            for (var reading = 0; reading < 5; reading++) {
                var selected = selector.read();
                assertThat(selected.answer()).isEqualTo(SAME);
                assertThat(selected.reason()).startsWith("NVML passed its own checks");
            }
        }
        assertThat(tool.readings).isEqualTo(6);
    }

    @Test
    void missingLibraryMeansNvidiaSmiAndIsTriedAgainLater() throws Exception {
        nvml.give(List.of(failed(Cause.LIBRARY, 0)));
        var selector = selector(AUTO);
        for (var reading = 0; reading < 10; reading++) {
            var selected = selector.read();
            assertThat(selected).isEqualTo(new SelectedFacts(TOOL, "NVML failed: it failed", ""));
        }
        assertThat(nvml.readings).isEqualTo(3);
        now += Duration.ofMinutes(10).toNanos();
        nvml.give(List.of(SAME));
        assertThat(selector.read().answer()).isEqualTo(SAME);
    }

    @Test
    void failureOfNvmlIsTheAnswerIfTheSettingAllowsNothingElse() throws Exception {
        var failure = failed(Cause.ERROR, 9);
        nvml.give(List.of(failure));
        var selector = selector(ONLY_NVML);
        for (var reading = 0; reading < 5; reading++) {
            assertThat(selector.read()).isEqualTo(new SelectedFacts(failure, "GENV_ENFORCER_GPU_SOURCE=nvml", ""));
        }
        nvml.give(List.of(SAME));
        assertThat(selector.read().answer()).isEqualTo(SAME);
    }

    /** As after an update of the driver: the library must be loaded again, and proves itself again. */
    @Test
    void failureIsReadAgainAndComparedAgain() throws Exception {
        var selector = selector(AUTO);
        selector.read();
        nvml.give(List.of(failed(Cause.ERROR, 18), SAME));
        assertThat(selector.read().answer()).isEqualTo(SAME);
        assertThat(tool.readings).isEqualTo(2);
    }

    /** NVML that is not held is loaded again without a failure. */
    @Test
    void anotherDriverIsComparedAgain() throws Exception {
        var selector = selector(new SourceSelector.Options(true, true, false));
        selector.read();
        var updated = new NvmlFacts.Listed(NvmlFacts.Answer.of("580.95"), ((NvmlFacts.Listed) SAME).devices());
        nvml.give(List.of(updated));
        for (var reading = 0; reading < 3; reading++) {
            assertThat(selector.read().answer()).isEqualTo(updated);
        }
        assertThat(tool.readings).isEqualTo(2);
    }

    @Test
    void lastingFailureMeansNvidiaSmiAtOnceAndForAWhile() throws Exception {
        var selector = selector(AUTO);
        selector.read();
        nvml.give(List.of(failed(Cause.ERROR, 18)));
        for (var reading = 0; reading < 6; reading++) {
            assertThat(selector.read().answer()).isEqualTo(TOOL);
        }
        assertThat(nvml.readings).isEqualTo(2 + 4);
        nvml.give(List.of(SAME));
        assertThat(selector.read().answer()).isEqualTo(TOOL);
        now += Duration.ofMinutes(10).toNanos();
        assertThat(selector.read().answer()).isEqualTo(SAME);
    }

    /** So that a process that closed its files is terminated if nvidia-smi lists it too. */
    @Test
    void doubtMeansNvidiaSmiOnce() throws Exception {
        var selector = selector(AUTO);
        selector.read();
        selector.doubt();
        assertThat(selector.read().answer()).isEqualTo(TOOL);
        assertThat(selector.read().answer()).isEqualTo(SAME);
        assertThat(tool.readings).isEqualTo(2);
    }

    @Test
    void doubtChangesNothingWithoutNvidiaSmi() throws Exception {
        tool.give(List.of(NO_TOOL));
        for (var options : List.of(AUTO, ONLY_NVML)) {
            var selector = selector(options);
            selector.read();
            selector.doubt();
            assertThat(selector.read().answer()).isEqualTo(SAME);
        }
    }

    /** nvidia-smi would hang in the same driver. */
    @ParameterizedTest
    @EnumSource(names = {"TIMEOUT", "BUSY"})
    void hangingDriverIsAFailureAtFirst(Cause cause) throws Exception {
        var selector = selector(AUTO);
        selector.read();
        var hangs = failed(cause, 0);
        nvml.give(List.of(hangs));
        assertThat(selector.read().answer()).isEqualTo(hangs);
        assertThat(selector.read().answer()).isEqualTo(hangs);
        assertThat(tool.readings).isEqualTo(1);
        assertThat(selector.read().answer()).isEqualTo(TOOL);
    }

    @Test
    void failureOfNvmlIsShownIfNvidiaSmiCannotBeRun() throws Exception {
        tool.give(List.of(NO_TOOL));
        var failure = failed(Cause.ERROR, 999);
        nvml.give(List.of(failure));
        var selector = selector(AUTO);
        for (var reading = 0; reading < 5; reading++) {
            assertThat(selector.read().answer()).isEqualTo(failure);
        }
        nvml.give(List.of(SAME));
        assertThat(selector.read().answer()).isEqualTo(SAME);
    }

    @Test
    void problemOfNvidiaSmiIsShownIfNeitherIsThere() throws Exception {
        tool.give(List.of(NO_TOOL));
        nvml.give(List.of(failed(Cause.LIBRARY, 0)));
        assertThat(selector(AUTO).read()).isEqualTo(new SelectedFacts(NO_TOOL, "NVML failed: it failed", ""));
    }

    private SourceSelector selector(SourceSelector.Options options) {
        return new SourceSelector(options, nvml, tool, () -> now);
    }

    private static NvmlFacts failed(Cause cause, int code) {
        return new NvmlFacts.Failed(cause, code, "it failed");
    }

    private static ToolFacts tool(String processes, String devices) {
        return new ToolFacts(output(processes), output(devices));
    }

    private static Reading<ToolOutput> output(String lines) {
        return Reading.of(new ToolOutput(0, Bytes.of(lines.getBytes(StandardCharsets.UTF_8)), Bytes.EMPTY));
    }
}
