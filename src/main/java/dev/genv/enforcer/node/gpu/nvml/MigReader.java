package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Fault;
import dev.genv.enforcer.facts.NvmlFacts.MigDevice;
import dev.genv.enforcer.facts.NvmlFacts.Value;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Reads the MIG devices of a GPU and their processes. */
final class MigReader {
    private static final int ENABLED = 1;
    /** More than any GPU has. */
    private static final int MOST_DEVICES = 64;

    private final NvmlLibrary library;
    private final ProcessLists processes;
    private final MemorySegment number;
    private final MemorySegment pending;
    private final MemorySegment handle;

    MigReader(NvmlLibrary library, ProcessLists processes, Arena arena) {
        this.library = library;
        this.processes = processes;
        number = arena.allocate(JAVA_INT);
        pending = arena.allocate(JAVA_INT);
        handle = arena.allocate(ADDRESS);
    }

    Answer<List<MigDevice>> read(MemorySegment device, GpuCalls calls) throws NvmlException {
        if (!library.has(NvmlFunction.MIG_MODE)) {
            return Answer.of(List.of()); // the driver is older than MIG
        }
        var mode = calls.answer(
                NvmlFunction.MIG_MODE,
                () -> library.call(NvmlFunction.MIG_MODE, device, number, pending),
                () -> number.get(JAVA_INT, 0));
        return switch (mode) {
            case Value<Integer>(var current) -> current == ENABLED ? devices(device, calls) : Answer.of(List.of());
            case Fault<Integer> _
            when GpuCalls.isFault(mode, NvmlFunction.MIG_MODE, NvmlCode.NOT_SUPPORTED, NvmlCode.FUNCTION_NOT_FOUND) ->
                Answer.of(List.of());
            case Fault<Integer>(var code, var function) -> Answer.fault(code, function);
        };
    }

    private Answer<List<MigDevice>> devices(MemorySegment device, GpuCalls calls) throws NvmlException {
        var slots = calls.answer(
                NvmlFunction.MAX_MIG_DEVICES,
                () -> library.call(NvmlFunction.MAX_MIG_DEVICES, device, number),
                () -> number.get(JAVA_INT, 0));
        return switch (slots) {
            case Value<Integer>(var count) -> Answer.of(devices(device, count, calls));
            case Fault<Integer>(var code, var function) -> Answer.fault(code, function);
        };
    }

    private List<MigDevice> devices(MemorySegment device, int slots, GpuCalls calls) throws NvmlException {
        if (slots < 0 || slots > MOST_DEVICES) {
            throw new NvmlException(
                    Cause.LAYOUT,
                    "NVML is not used: %s counted %s MIG devices"
                            .formatted(NvmlFunction.MAX_MIG_DEVICES.symbol(), Integer.toUnsignedString(slots)));
        }
        var devices = new ArrayList<MigDevice>();
        for (var slot = 0; slot < slots; slot++) {
            var found = handle(device, slot, calls);
            if (!GpuCalls.isFault(found, NvmlFunction.MIG_HANDLE_BY_INDEX, NvmlCode.NOT_FOUND)) {
                devices.add(
                        switch (found) {
                            case Value<MemorySegment>(var instance) ->
                                new MigDevice(
                                        slot, processes.compute(instance, calls), processes.graphics(instance, calls));
                            case Fault<MemorySegment>(var code, var function) ->
                                new MigDevice(slot, Answer.fault(code, function), Answer.fault(code, function));
                        });
            }
        }
        return devices;
    }

    private Answer<MemorySegment> handle(MemorySegment device, int slot, GpuCalls calls) throws NvmlException {
        return calls.answer(
                NvmlFunction.MIG_HANDLE_BY_INDEX,
                () -> {
                    handle.set(ADDRESS, 0, MemorySegment.NULL);
                    return library.call(NvmlFunction.MIG_HANDLE_BY_INDEX, device, slot, handle);
                },
                () -> handle.get(ADDRESS, 0));
    }
}
