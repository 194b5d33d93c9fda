package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.format.gpu.GpuQuery;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The query to nvidia-smi for what is measured on the GPUs. Only metrics need it, so it has little time, and it is not made for a while
 * after it used all of that time.
 */
final class StatusQuery {
    /** Less than the time that an observation has besides the queries that the rules need. */
    static final Duration LONGEST = Duration.ofSeconds(5);

    static final Duration PAUSE = Duration.ofMinutes(10);

    private final ToolRunner tool;
    private final Duration timeout;
    private final LongSupplier nanos;
    private @Nullable Hang hang;

    /** @param nanos as {@link System#nanoTime} */
    StatusQuery(String program, Duration timeout, LongSupplier nanos) {
        this.timeout = timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST;
        tool = new ToolRunner(program, this.timeout);
        this.nanos = nanos;
    }

    private record Hang(Reading<ToolOutput> failure, long at) {}

    /** Makes the query; during a pause it returns the failure that began the pause. */
    Reading<ToolOutput> read() throws InterruptedException {
        var start = nanos.getAsLong();
        var last = hang;
        if (last != null && start - last.at < PAUSE.toNanos()) {
            return last.failure;
        }
        var answer = tool.run(GpuQuery.STATUS);
        var end = nanos.getAsLong();
        var hung = answer instanceof Reading.Failed<ToolOutput> && end - start >= timeout.toNanos();
        hang = hung ? new Hang(answer, end) : null;
        return answer;
    }
}
