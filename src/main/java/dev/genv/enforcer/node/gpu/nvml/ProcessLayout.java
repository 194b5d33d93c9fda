package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The layout of an entry in a list of processes (nvmlProcessInfo_v2_t). Some drivers 535 write a longer one by the same function, as the
 * header of CUDA 12.2 describes it.
 */
enum ProcessLayout {
    USUAL(24),
    /** With the memory that confidential computing protects. */
    WITH_PROTECTED_MEMORY(32);

    /** The kernel's largest pid (PID_MAX_LIMIT in linux/threads.h). */
    private static final int LARGEST_PID = 4 << 20;

    private static final int PID = 0;
    private static final int MEMORY = 8;
    private static final int GPU_INSTANCE = 16;
    private static final int COMPUTE_INSTANCE = 20;
    private static final int PROTECTED_MEMORY = 24;
    private static final int NO_INSTANCE = -1;
    private static final long NO_MEMORY = -1;

    private final int size;

    ProcessLayout(int size) {
        this.size = size;
    }

    /** Returns the layout of the function _v3. The functions tell the drivers apart; nvml.h does not. */
    static ProcessLayout of(NvmlLibrary library) {
        return library.has(NvmlFunction.CONFIDENTIAL_MEMORY) && !library.has(NvmlFunction.PROCESS_DETAILS)
                ? WITH_PROTECTED_MEMORY
                : USUAL;
    }

    /** In bytes. */
    int size() {
        return size;
    }

    /** Returns whether each field was written and can be one. The padding behind the pid need not be written. */
    boolean isPlausible(MemorySegment entries, int number) {
        var at = (long) number * size;
        var pid = entries.get(JAVA_INT, at + PID);
        return pid > 0
                && pid <= LARGEST_PID
                && entries.get(JAVA_LONG, at + MEMORY) >= NO_MEMORY // and so it is not the poison
                && entries.get(JAVA_INT, at + GPU_INSTANCE) != EntryBuffer.POISON_INT
                && entries.get(JAVA_INT, at + COMPUTE_INSTANCE) != EntryBuffer.POISON_INT
                && (this == USUAL || entries.get(JAVA_LONG, at + PROTECTED_MEMORY) != EntryBuffer.POISON_LONG);
    }

    DeviceProcess read(MemorySegment entries, int number) {
        var at = (long) number * size;
        var memory = entries.get(JAVA_LONG, at + MEMORY);
        return new DeviceProcess(
                entries.get(JAVA_INT, at + PID),
                memory == NO_MEMORY ? null : memory,
                instance(entries.get(JAVA_INT, at + GPU_INSTANCE)),
                instance(entries.get(JAVA_INT, at + COMPUTE_INSTANCE)));
    }

    private static @Nullable Integer instance(int id) {
        return id == NO_INSTANCE ? null : id;
    }
}
