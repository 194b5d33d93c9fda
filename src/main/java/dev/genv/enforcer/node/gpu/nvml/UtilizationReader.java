package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Utilization;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Reads how much of a GPU its processes used since the last reading (nvmlProcessUtilizationSample_t). */
final class UtilizationReader {
    private static final int SIZE = 32;
    private static final int PID = 0;
    private static final int TIME = 8;
    private static final int SM = 16;
    private static final int PERCENT = 100;

    private final NvmlLibrary library;
    private final EntryBuffer buffer;
    private final UtilizationTimes times;

    UtilizationReader(NvmlLibrary library, EntryBuffer buffer, UtilizationTimes times) {
        this.library = library;
        this.buffer = buffer;
        this.times = times;
    }

    Answer<List<Utilization>> read(MemorySegment device, String uuid, GpuCalls calls) throws NvmlException {
        var since = times.lastSeen(uuid);
        var answer = calls.answer(
                NvmlFunction.PROCESS_UTILIZATION,
                () -> buffer.fill(() -> library.call(
                        NvmlFunction.PROCESS_UTILIZATION, device, buffer.entries(), buffer.count(), since)),
                () -> samples(uuid, since));
        return GpuCalls.isFault(answer, NvmlFunction.PROCESS_UTILIZATION, NvmlCode.NOT_FOUND)
                ? Answer.of(List.of())
                : answer;
    }

    /** Leaves out what is no sample: drivers count entries that they did not fill. */
    private List<Utilization> samples(String uuid, long since) {
        var samples = new ArrayList<Utilization>();
        var count = Math.min(buffer.length(), buffer.capacity());
        for (var at = 0L; at < count * SIZE; at += SIZE) {
            var pid = buffer.entries().get(JAVA_INT, at + PID);
            var time = buffer.entries().get(JAVA_LONG, at + TIME);
            var sm = buffer.entries().get(JAVA_INT, at + SM);
            if (pid > 0 && time > since && sm >= 0 && sm <= PERCENT) {
                samples.add(new Utilization(pid, time, sm));
            }
        }
        times.record(uuid, samples);
        return samples;
    }
}
