package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.Value;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** Reads what NVML knows of one GPU. */
final class DeviceReader {
    /** NVML_DEVICE_UUID_V2_BUFFER_SIZE. */
    private static final int UUID_SIZE = 96;

    private final NvmlLibrary library;
    private final MemoryReader memory;
    private final ProcessLists processes;
    private final MigReader instances;
    private final UtilizationReader utilization;
    private final @Nullable StatusReader status;
    private final MemorySegment handle;
    private final MemorySegment uuid;
    private final MemorySegment minor;

    /**
     * Allocates the memory that its calls need.
     *
     * @param readsStatus whether to read the temperature and the utilization
     */
    DeviceReader(NvmlLibrary library, EntryBuffer buffer, UtilizationTimes times, boolean readsStatus, Arena arena) {
        this.library = library;
        memory = new MemoryReader(library, arena);
        processes = new ProcessLists(library, buffer);
        instances = new MigReader(library, processes, arena);
        utilization = new UtilizationReader(library, buffer, times);
        status = readsStatus ? new StatusReader(library, arena) : null;
        handle = arena.allocate(ADDRESS);
        uuid = arena.allocate(UUID_SIZE + 1); // the last byte always ends the text
        minor = arena.allocate(JAVA_INT);
    }

    /** @throws NvmlException after an error that concerns all GPUs, or if the answers are not laid out as expected */
    Device read(int index, GpuCalls calls) throws NvmlException {
        handle.set(ADDRESS, 0, MemorySegment.NULL);
        var code = library.call(NvmlFunction.HANDLE_BY_INDEX, index, handle);
        if (code != NvmlCode.SUCCESS.number()) {
            calls.end(code, NvmlFunction.HANDLE_BY_INDEX);
        }
        var device = handle.get(ADDRESS, 0);
        var name = uuid(device, calls);
        return new Device(
                index,
                name,
                minor(device, calls),
                memory.read(device, calls),
                processes.compute(device, calls),
                processes.graphics(device, calls),
                instances.read(device, calls),
                utilization.read(device, name instanceof Value<String>(var text) ? text : "", calls),
                status == null ? null : status.read(device, calls));
    }

    private Answer<String> uuid(MemorySegment device, GpuCalls calls) throws NvmlException {
        return calls.answer(
                NvmlFunction.UUID,
                () -> library.call(NvmlFunction.UUID, device, uuid, UUID_SIZE),
                () -> uuid.getString(0));
    }

    private Answer<Integer> minor(MemorySegment device, GpuCalls calls) throws NvmlException {
        return calls.answer(
                NvmlFunction.MINOR_NUMBER,
                () -> library.call(NvmlFunction.MINOR_NUMBER, device, minor),
                () -> minor.get(JAVA_INT, 0));
    }
}
