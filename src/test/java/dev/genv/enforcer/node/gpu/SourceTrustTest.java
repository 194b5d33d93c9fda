package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When NVML is compared with nvidia-smi, and what follows. */
class SourceTrustTest extends SourceSelectorFixture {
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
}
