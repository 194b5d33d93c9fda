package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.ToolException;
import java.util.List;
import java.util.Optional;

/** The lines of nvidia-smi. */
final class ToolList {
    private ToolList() {}

    /** Returns the comparison with a valid answer to both queries; empty if there is none. */
    static Optional<SourceComparison> of(ToolFacts facts) {
        return lines(facts.processes())
                .flatMap(processes -> lines(facts.devices())
                        .map(devices -> new SourceComparison(GpuDevices.parse(devices), GpuLine.parse(processes))));
    }

    /** Whether the program could be run at all. */
    static boolean wasRun(ToolFacts facts) {
        return facts.processes() instanceof Reading.Value<ToolOutput>;
    }

    /** Returns the lines of an answer; empty if it is none. */
    static Optional<List<String>> lines(Reading<ToolOutput> reading) {
        try {
            return reading instanceof Reading.Value<ToolOutput>(var output)
                    ? Optional.of(GpuQuery.lines(
                            output.exitCode(),
                            output.stdout().text(),
                            output.stderr().text()))
                    : Optional.empty();
        } catch (ToolException e) {
            return Optional.empty();
        }
    }
}
