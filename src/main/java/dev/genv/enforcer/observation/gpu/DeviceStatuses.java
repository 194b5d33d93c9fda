package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.ToolException;
import dev.genv.enforcer.host.GpuFacts;
import dev.genv.enforcer.host.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Interprets what nvidia-smi answered about the temperature, the utilization and the memory of the GPUs. Nothing else depends on it. */
public final class DeviceStatuses {
    private static final int FIELDS = 5;
    private static final int PERCENT = 100;

    private DeviceStatuses() {}

    /** Returns the status of each device, in the order of the indices; none if it was not asked for it. */
    public static Found<List<DeviceStatus>> of(GpuFacts facts) {
        return switch (facts.status()) {
            case Reading.Value<ToolOutput>(var output) -> of(output);
            case Reading.Failed<ToolOutput>(var _, var reason) ->
                reason.isEmpty() ? Found.of(List.of()) : unknown(reason);
        };
    }

    private static Found<List<DeviceStatus>> of(ToolOutput output) {
        try {
            return Found.of(parse(GpuQuery.lines(
                    output.exitCode(), output.stdout().text(), output.stderr().text())));
        } catch (ToolException e) {
            return unknown(String.valueOf(e.getMessage()));
        }
    }

    private static Found<List<DeviceStatus>> unknown(String reason) {
        List<DeviceStatus> none = List.of();
        return Found.of(none).with(new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, reason));
    }

    /**
     * Parses lines of {@code index, memory.used, memory.total, temperature.gpu, utilization.gpu}. An invalid line is left out, and so is a
     * second line for a device. A field such as {@code [N/A]} is unknown.
     */
    static List<DeviceStatus> parse(List<String> lines) {
        var byIndex = new TreeMap<Integer, DeviceStatus>();
        for (var line : lines) {
            parse(line).ifPresent(status -> byIndex.putIfAbsent(status.index(), status));
        }
        return List.copyOf(byIndex.values());
    }

    private static Optional<DeviceStatus> parse(String line) {
        var fields = line.split(",", -1);
        var index = fields.length == FIELDS ? number(fields[0], "[0-9]{1,6}") : null;
        if (index == null) {
            return Optional.empty();
        }
        var utilization = number(fields[4], "[0-9]{1,3}");
        return Optional.of(new DeviceStatus(
                index,
                number(fields[3], "-?[0-9]{1,3}"),
                utilization == null || utilization > PERCENT ? null : utilization,
                memory(fields[1]),
                memory(fields[2])));
    }

    private static @Nullable Memory memory(String field) {
        var text = field.strip();
        return text.matches("[0-9]{1,12}") ? Memory.ofMebibytes(Long.parseLong(text)) : null;
    }

    private static @Nullable Integer number(String field, String form) {
        var text = field.strip();
        return text.matches(form) ? Integer.valueOf(text) : null;
    }
}
