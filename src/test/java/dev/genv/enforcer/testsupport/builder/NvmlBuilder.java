package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.facts.NvmlFacts.MigDevice;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A GPU as NVML describes it. */
public final class NvmlBuilder {
    private static final long MEBIBYTE = 1 << 20;
    private static final long TOTAL = 16384 * MEBIBYTE;

    private final int index;
    private Answer<String> uuid;
    private Answer<MemoryUse> memory = Answer.of(new MemoryUse(TOTAL, 0, false));
    private @Nullable Answer<List<DeviceProcess>> compute;
    private NvmlFacts.@Nullable Status status;
    private final List<DeviceProcess> processes = new ArrayList<>();
    private final List<DeviceProcess> graphics = new ArrayList<>();
    private final List<MigDevice> instances = new ArrayList<>();

    private NvmlBuilder(int index, String uuid) {
        this.index = index;
        this.uuid = Answer.of(uuid);
    }

    public static NvmlBuilder device(int index, String uuid) {
        return new NvmlBuilder(index, uuid);
    }

    public static NvmlFacts.Listed listed(NvmlBuilder... devices) {
        return new NvmlFacts.Listed(
                Answer.of("570.86"),
                List.of(devices).stream().map(NvmlBuilder::device).toList());
    }

    /** A process with a compute context. */
    public NvmlBuilder process(long pid, @Nullable Long mebibytes) {
        processes.add(inBytes(pid, mebibytes, null));
        return this;
    }

    public NvmlBuilder graphics(long pid, @Nullable Long mebibytes) {
        graphics.add(inBytes(pid, mebibytes, null));
        return this;
    }

    /** A process on a MIG device, in the list of the whole GPU. */
    public NvmlBuilder migProcess(long pid, long mebibytes, int instance) {
        processes.add(inBytes(pid, mebibytes, instance));
        return this;
    }

    /** A MIG device with a list of its own. */
    public NvmlBuilder migDevice(int slot, Answer<List<DeviceProcess>> list) {
        instances.add(new MigDevice(slot, list, Answer.of(List.of())));
        return this;
    }

    /** The list of processes is an error. */
    public NvmlBuilder hidden(int code) {
        compute = Answer.fault(code, "nvmlDeviceGetComputeRunningProcesses_v3");
        return this;
    }

    /** The handle is an error. */
    public NvmlBuilder lost(int code) {
        uuid = Answer.fault(code, "nvmlDeviceGetHandleByIndex_v2");
        memory = Answer.fault(code, "nvmlDeviceGetHandleByIndex_v2");
        compute = Answer.fault(code, "nvmlDeviceGetHandleByIndex_v2");
        return this;
    }

    public NvmlBuilder used(long mebibytes, boolean includesReserve) {
        memory = Answer.of(new MemoryUse(TOTAL, mebibytes * MEBIBYTE, includesReserve));
        return this;
    }

    /** The GPU is known, and its memory is an error. */
    public NvmlBuilder unreadableMemory(int code) {
        memory = Answer.fault(code, "nvmlDeviceGetMemoryInfo_v2");
        return this;
    }

    public NvmlBuilder status(Answer<Integer> temperature, Answer<Integer> utilization) {
        status = new NvmlFacts.Status(temperature, utilization);
        return this;
    }

    public static DeviceProcess inBytes(long pid, @Nullable Long mebibytes, @Nullable Integer instance) {
        return new DeviceProcess(
                pid, mebibytes == null ? null : mebibytes * MEBIBYTE, instance, instance == null ? null : 0);
    }

    private Device device() {
        return new Device(
                index,
                uuid,
                Answer.of(index),
                memory,
                compute == null ? Answer.of(List.copyOf(processes)) : compute,
                Answer.of(List.copyOf(graphics)),
                Answer.of(List.copyOf(instances)),
                Answer.of(List.of()),
                status);
    }
}
