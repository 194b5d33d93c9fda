package dev.genv.enforcer.node.gpu.nvml;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Reads the lists of processes, and refuses those that are not laid out as expected: a wrong pid would be terminated. */
final class ProcessLists {
    private final NvmlLibrary library;
    private final EntryBuffer buffer;
    private final Source compute;
    private final Source graphics;

    /** A function and the layout of its entries. */
    private record Source(NvmlFunction function, ProcessLayout layout) {
        static Source of(NvmlLibrary library, NvmlFunction newer, NvmlFunction older) {
            return library.has(newer)
                    ? new Source(newer, ProcessLayout.of(library))
                    : new Source(older, ProcessLayout.USUAL);
        }
    }

    ProcessLists(NvmlLibrary library, EntryBuffer buffer) {
        this.library = library;
        this.buffer = buffer;
        compute = Source.of(library, NvmlFunction.COMPUTE_PROCESSES_V3, NvmlFunction.COMPUTE_PROCESSES_V2);
        graphics = Source.of(library, NvmlFunction.GRAPHICS_PROCESSES_V3, NvmlFunction.GRAPHICS_PROCESSES_V2);
    }

    /** @throws NvmlException if the library is too old */
    static void requireFunctions(NvmlLibrary library) throws NvmlException {
        if (!library.has(NvmlFunction.COMPUTE_PROCESSES_V3) && !library.has(NvmlFunction.COMPUTE_PROCESSES_V2)) {
            throw new NvmlException(
                    Cause.LIBRARY, "NVML is too old: it has no function " + NvmlFunction.COMPUTE_PROCESSES_V2.symbol());
        }
    }

    Answer<List<DeviceProcess>> compute(MemorySegment device, GpuCalls calls) throws NvmlException {
        return read(compute, device, calls);
    }

    Answer<List<DeviceProcess>> graphics(MemorySegment device, GpuCalls calls) throws NvmlException {
        return read(graphics, device, calls);
    }

    private Answer<List<DeviceProcess>> read(Source source, MemorySegment device, GpuCalls calls) throws NvmlException {
        return calls.answer(
                source.function,
                () -> buffer.fill(() -> library.call(source.function, device, buffer.count(), buffer.entries())),
                () -> entries(source));
    }

    private List<DeviceProcess> entries(Source source) throws NvmlException {
        var count = buffer.length();
        if (count > buffer.capacity()) {
            throw new NvmlException(
                    Cause.LAYOUT,
                    "NVML is not used: %s counted %d entries in memory for %d"
                            .formatted(source.function.symbol(), count, buffer.capacity()));
        }
        if (!buffer.isUnwrittenFrom(count * source.layout.size())) {
            throw unexpectedLayout(source, count, "wrote more than");
        }
        var processes = new ArrayList<DeviceProcess>((int) count);
        for (var number = 0; number < count; number++) {
            if (!source.layout.isPlausible(buffer.entries(), number)) {
                throw unexpectedLayout(source, count, "did not write");
            }
            processes.add(source.layout.read(buffer.entries(), number));
        }
        return processes;
    }

    private static NvmlException unexpectedLayout(Source source, long count, String what) {
        return new NvmlException(
                Cause.LAYOUT,
                "NVML is not used: %s %s %d valid entries of %d bytes"
                        .formatted(source.function.symbol(), what, count, source.layout.size()));
    }
}
