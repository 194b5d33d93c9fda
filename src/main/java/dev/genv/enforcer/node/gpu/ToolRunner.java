package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.ToolException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Runs nvidia-smi, which it finds at its first use. */
final class ToolRunner {
    private final String program;
    private final Duration timeout;
    private @Nullable ChildProcess tool;

    ToolRunner(String program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
    }

    /** Makes a query. A failure is part of the result. */
    Reading<ToolOutput> run(String query) throws InterruptedException {
        try {
            var found = tool;
            if (found == null) {
                found = new ChildProcess(TrustedProgram.find(program), timeout);
                tool = found;
            }
            var output = found.run(query, GpuQuery.FORMAT);
            return Reading.of(new ToolOutput(output.exitCode(), bytes(output.stdout()), bytes(output.stderr())));
        } catch (ToolException e) {
            return Reading.failed(Failure.OTHER, String.valueOf(e.getMessage()));
        }
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.UTF_8));
    }
}
