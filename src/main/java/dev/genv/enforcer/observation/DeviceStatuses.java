package dev.genv.enforcer.observation;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Interprets what nvidia-smi answered about the temperature, the utilization and the memory of the GPUs. Nothing else depends on it. */
final class DeviceStatuses {
    private static final int FIELDS = 7;
    private static final int LONGEST_MODEL = 100;
    private static final int PERCENT = 100;

    private DeviceStatuses() {}

    /** Returns the status of each device, in the order of the indices; none if it was not asked for it. */
    static List<DeviceStatus> of(GpuFacts facts, Findings findings) {
        try {
            switch (facts.status()) {
                case Reading.Value<ToolOutput>(var output) -> {
                    return parse(GpuQuery.lines(output));
                }
                case Reading.Failed<ToolOutput>(var _, var reason) -> {
                    if (!reason.isEmpty()) {
                        findings.add(ProblemCode.DEVICE_STATUS_UNKNOWN, reason);
                    }
                }
            }
        } catch (ToolException e) {
            findings.add(ProblemCode.DEVICE_STATUS_UNKNOWN, String.valueOf(e.getMessage()));
        }
        return List.of();
    }

    /** An invalid line is left out, and so is a second line for a device. A field such as {@code [N/A]} is unknown. */
    static List<DeviceStatus> parse(List<String> lines) {
        var byIndex = new TreeMap<Integer, DeviceStatus>();
        lines.stream()
                .map(DeviceStatuses::parse)
                .filter(Objects::nonNull)
                .forEach(status -> byIndex.putIfAbsent(status.index(), status));
        return List.copyOf(byIndex.values());
    }

    /** Parses a line of the answer to {@link GpuQuery#STATUS}. */
    private static @Nullable DeviceStatus parse(String line) {
        var fields = line.split(",", FIELDS);
        var index = fields.length == FIELDS ? number(fields[0], "[0-9]{1,6}") : null;
        if (index == null) {
            return null;
        }
        var utilization = number(fields[4], "[0-9]{1,3}");
        var model = fields[6].strip();
        return new DeviceStatus(
                index,
                number(fields[3], "-?[0-9]{1,3}"),
                utilization == null || utilization > PERCENT ? null : utilization,
                GpuQuery.mebibytes(fields[1]),
                GpuQuery.mebibytes(fields[2]),
                number(fields[5].replaceFirst("\\.[0-9]*\\s*$", ""), "[0-9]{1,6}"),
                model.isEmpty() || model.startsWith("[") || model.length() > LONGEST_MODEL ? null : model);
    }

    private static @Nullable Integer number(String field, String form) {
        var text = field.strip();
        return text.matches(form) ? Integer.valueOf(text) : null;
    }
}
