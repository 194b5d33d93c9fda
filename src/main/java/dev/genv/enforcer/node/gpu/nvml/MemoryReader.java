package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Reads the memory of a GPU: nvmlMemory_v2_t, or nvmlMemory_t of an older driver, which counts its own share as used. */
final class MemoryReader {
    private static final int V2_SIZE = 40;
    private static final int V2_VERSION = 2 << 24 | V2_SIZE;
    private static final int V2_TOTAL = 8;
    private static final int V2_USED = 32;
    private static final int V1_TOTAL = 0;
    private static final int V1_USED = 16;

    private final NvmlLibrary library;
    private final MemorySegment memory;

    MemoryReader(NvmlLibrary library, Arena arena) {
        this.library = library;
        memory = arena.allocate(V2_SIZE, Long.BYTES);
    }

    Answer<MemoryUse> read(MemorySegment device, GpuCalls calls) throws NvmlException {
        if (library.has(NvmlFunction.MEMORY_INFO_V2)) {
            var answer = calls.answer(
                    NvmlFunction.MEMORY_INFO_V2, () -> fillV2(device), () -> memoryUse(V2_TOTAL, V2_USED, false));
            if (!GpuCalls.isTooNew(answer, NvmlFunction.MEMORY_INFO_V2)) {
                return answer;
            }
        }
        return calls.answer(
                NvmlFunction.MEMORY_INFO,
                () -> library.call(NvmlFunction.MEMORY_INFO, device, memory),
                () -> memoryUse(V1_TOTAL, V1_USED, true));
    }

    private int fillV2(MemorySegment device) {
        memory.set(JAVA_INT, 0, V2_VERSION);
        return library.call(NvmlFunction.MEMORY_INFO_V2, device, memory);
    }

    private MemoryUse memoryUse(int total, int used, boolean includesReserve) throws NvmlException {
        var use = new MemoryUse(memory.get(JAVA_LONG, total), memory.get(JAVA_LONG, used), includesReserve);
        if (use.total() < 0 || use.used() < 0) {
            throw new NvmlException(Cause.LAYOUT, "NVML is not used: it reports an impossible amount of memory");
        }
        return use;
    }
}
