package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SourceSelectorTest extends SourceSelectorFixture {
    @Test
    void hasEverySourceForgetTheDevices() {
        selector(AUTO).forgetDevices();
        assertThat(nvml.forgotten).isEqualTo(1);
        assertThat(tool.forgotten).isEqualTo(1);
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

    /** As with a slow nvidia-smi: the observation of the host would never end. */
    @Test
    void comparisonThatIsTooSlowMeansNvidiaSmiForAWhile() throws Exception {
        tool.interruptions = 3;
        var selector = selector(AUTO);
        for (var reading = 0; reading < 3; reading++) {
            assertThatThrownBy(selector::read).isInstanceOf(InterruptedException.class);
        }
        assertThat(selector.read())
                .isEqualTo(new SelectedFacts(TOOL, "NVML and the comparison with it took too long", ""));
        assertThat(nvml.readings).isEqualTo(3);
        now += Duration.ofMinutes(10).toNanos();
        assertThat(selector.read().answer()).isEqualTo(SAME);
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
}
