package dev.genv.enforcer.node.gpu.nvml;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Status;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlFunction;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Reads the temperature (nvmlTemperature_v1_t, or a number of an older driver) and the utilization (nvmlUtilization_t) of a GPU. */
final class StatusReader {
    /** NVML_TEMPERATURE_GPU. */
    private static final int SENSOR = 0;

    private static final int TEMPERATURE_SIZE = 12;
    private static final int TEMPERATURE_VERSION = 1 << 24 | TEMPERATURE_SIZE;
    private static final int SENSOR_OFFSET = 4;
    private static final int TEMPERATURE_OFFSET = 8;
    private static final int UTILIZATION_SIZE = 8;
    private static final int LOWEST_TEMPERATURE = -100;
    private static final int HIGHEST_TEMPERATURE = 1000;
    private static final int PERCENT = 100;

    private final NvmlLibrary library;
    private final MemorySegment temperature;
    private final MemorySegment utilization;

    StatusReader(NvmlLibrary library, Arena arena) {
        this.library = library;
        // Twice the size, so that another layout does not write past the end.
        temperature = arena.allocate(2 * TEMPERATURE_SIZE, Integer.BYTES);
        utilization = arena.allocate(2 * UTILIZATION_SIZE, Integer.BYTES);
    }

    Status read(MemorySegment device, GpuCalls calls) {
        return new Status(temperature(device, calls), utilization(device, calls));
    }

    private Answer<Integer> temperature(MemorySegment device, GpuCalls calls) {
        if (library.has(NvmlFunction.TEMPERATURE_V)) {
            var answer = calls.optional(
                    NvmlFunction.TEMPERATURE_V,
                    () -> fillTemperature(device),
                    () -> inRange(
                            temperature.get(JAVA_INT, TEMPERATURE_OFFSET),
                            LOWEST_TEMPERATURE,
                            HIGHEST_TEMPERATURE,
                            NvmlFunction.TEMPERATURE_V));
            if (!GpuCalls.isTooNew(answer, NvmlFunction.TEMPERATURE_V)) {
                return answer;
            }
        }
        return calls.optional(
                NvmlFunction.TEMPERATURE,
                () -> library.call(NvmlFunction.TEMPERATURE, device, SENSOR, temperature),
                () -> inRange(
                        temperature.get(JAVA_INT, 0),
                        LOWEST_TEMPERATURE,
                        HIGHEST_TEMPERATURE,
                        NvmlFunction.TEMPERATURE));
    }

    private int fillTemperature(MemorySegment device) {
        temperature.set(JAVA_INT, 0, TEMPERATURE_VERSION);
        temperature.set(JAVA_INT, SENSOR_OFFSET, SENSOR);
        temperature.set(JAVA_INT, TEMPERATURE_OFFSET, EntryBuffer.POISON_INT); // no possible temperature
        return library.call(NvmlFunction.TEMPERATURE_V, device, temperature);
    }

    private Answer<Integer> utilization(MemorySegment device, GpuCalls calls) {
        utilization.set(JAVA_INT, 0, EntryBuffer.POISON_INT);
        return calls.optional(
                NvmlFunction.UTILIZATION_RATES,
                () -> library.call(NvmlFunction.UTILIZATION_RATES, device, utilization),
                () -> inRange(utilization.get(JAVA_INT, 0), 0, PERCENT, NvmlFunction.UTILIZATION_RATES));
    }

    /** An impossible value is none. */
    private static Answer<Integer> inRange(int value, int lowest, int highest, NvmlFunction function) {
        return value >= lowest && value <= highest
                ? Answer.of(value)
                : Answer.fault(NvmlCode.NO_DATA.number(), function.symbol());
    }
}
