package dev.genv.enforcer.facts;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The answers of NVML, NVIDIA's library, as nvml.h describes them. */
public sealed interface NvmlFacts extends GpuFacts {
    /** One reading lists both. */
    @Override
    default boolean devicesAreCurrent() {
        return true;
    }

    /**
     * NVML listed the devices. Each answer about a device is a value or an error of its own.
     *
     * @param driver the version of the driver, such as {@code 570.86.15}
     */
    record Listed(Answer<String> driver, List<Device> devices) implements NvmlFacts {
        public Listed {
            devices = List.copyOf(devices);
        }
    }

    /**
     * NVML listed no devices.
     *
     * @param code NVML's error for {@link Cause#ERROR}; otherwise 0
     * @param reason a whole sentence
     */
    record Failed(Cause cause, int code, String reason) implements NvmlFacts {}

    /** Why NVML listed no devices. */
    enum Cause {
        /** The library cannot be loaded, or lacks a function. */
        LIBRARY,
        /** The library's answers are not laid out as expected, so no pid in them can be trusted. */
        LAYOUT,
        /** NVML returned an error. */
        ERROR,
        /** A call did not return in time. It may still run. */
        TIMEOUT,
        /** A call of an earlier reading has not returned, so none was made. */
        BUSY
    }

    /**
     * A value, or NVML's error.
     *
     * @param <T> the type of the value
     */
    sealed interface Answer<T> {
        static <T> Answer<T> of(T value) {
            return new Value<>(value);
        }

        static <T> Answer<T> fault(int code, String function) {
            return new Fault<>(code, function);
        }
    }

    /** A value. */
    record Value<T>(T value) implements Answer<T> {}

    /**
     * An error of NVML.
     *
     * @param code of {@code nvmlReturn_t}, such as 15 for a lost GPU
     * @param function the function that returned it
     */
    record Fault<T>(int code, String function) implements Answer<T> {}

    /**
     * A GPU. If its handle cannot be looked up, every answer is the error of that.
     *
     * @param index its position in NVML's list, which nvidia-smi and genv use too
     * @param uuid such as {@code GPU-fa4e…}, never that of a MIG device
     * @param minor the number of its device file, {@code /dev/nvidia0}
     * @param compute its processes with a compute context. With MIG and the privilege for it, also those of its MIG devices
     * @param graphics its processes with a graphics context; a process can be in both lists, with the same memory
     * @param instances its MIG devices; none if MIG is off or not supported
     * @param utilization the latest samples, which the driver keeps for some seconds
     * @param status null if it was not asked for
     */
    record Device(
            int index,
            Answer<String> uuid,
            Answer<Integer> minor,
            Answer<MemoryUse> memory,
            Answer<List<DeviceProcess>> compute,
            Answer<List<DeviceProcess>> graphics,
            Answer<List<MigDevice>> instances,
            Answer<List<Utilization>> utilization,
            @Nullable Status status) {}

    /**
     * What is measured on a GPU.
     *
     * @param temperature of the GPU itself, in degrees Celsius
     * @param utilization the share of the last sample period, at most a second, in which a kernel ran, in percent; NVML does not
     *     support it with MIG
     */
    record Status(Answer<Integer> temperature, Answer<Integer> utilization) {}

    /**
     * The memory of a GPU, in bytes.
     *
     * @param includesReserve whether the used memory includes what the driver reserves for itself, as that of older drivers does
     */
    record MemoryUse(long total, long used, boolean includesReserve) {}

    /**
     * A process on a GPU.
     *
     * @param pid in the first PID namespace, as the driver reports it
     * @param memory in bytes; null if the driver does not report it
     * @param gpuInstance the number of its GPU instance; null without MIG
     * @param computeInstance the number of its compute instance; null without MIG
     */
    record DeviceProcess(
            long pid,
            @Nullable Long memory,
            @Nullable Integer gpuInstance,
            @Nullable Integer computeInstance) {}

    /**
     * A MIG device.
     *
     * @param slot its position among the MIG devices of its GPU
     */
    record MigDevice(int slot, Answer<List<DeviceProcess>> compute, Answer<List<DeviceProcess>> graphics) {}

    /**
     * How much of a GPU a process used.
     *
     * @param time the driver's time of the sample, in microseconds since the epoch
     * @param sm the share of the time in which its kernels ran, in percent
     */
    record Utilization(long pid, long time, int sm) {}
}
