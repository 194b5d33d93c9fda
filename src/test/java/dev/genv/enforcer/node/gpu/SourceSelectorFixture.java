package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import java.nio.charset.StandardCharsets;

/** Two sources with given answers. */
abstract class SourceSelectorFixture {
    static final SourceSelector.Options AUTO = new SourceSelector.Options(true, true, true);
    static final SourceSelector.Options ONLY_NVML = new SourceSelector.Options(true, false, true);
    static final NvmlFacts SAME = listed(device(0, "GPU-0").process(812, 5L));
    static final NvmlFacts OTHER = listed(device(0, "GPU-0").process(813, 5L));
    static final ToolFacts TOOL = tool("GPU-0, 812, 5\n", "0, GPU-0, 16384\n");
    static final ToolFacts NO_TOOL = new ToolFacts(
            Reading.failed(Failure.OTHER, "nvidia-smi is not in any of /bin"), Reading.failed(Failure.SKIPPED, ""));

    final GivenAnswers<NvmlFacts> nvml = new GivenAnswers<>(SAME);
    final GivenAnswers<ToolFacts> tool = new GivenAnswers<>(TOOL);
    long now;

    SourceSelector selector(SourceSelector.Options options) {
        return new SourceSelector(options, nvml, tool, () -> now);
    }

    static NvmlFacts failed(Cause cause, int code) {
        return new NvmlFacts.Failed(cause, code, "it failed");
    }

    static ToolFacts tool(String processes, String devices) {
        return new ToolFacts(output(processes), output(devices));
    }

    private static Reading<ToolOutput> output(String lines) {
        return Reading.of(new ToolOutput(0, Bytes.of(lines.getBytes(StandardCharsets.UTF_8)), Bytes.EMPTY));
    }
}
