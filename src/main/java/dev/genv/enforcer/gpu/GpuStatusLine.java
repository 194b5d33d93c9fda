package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A line of nvidia-smi with what is measured on a GPU: {@code index, memory.used, memory.total, temperature.gpu, utilization.gpu}. */
public final class GpuStatusLine {
    private static final int FIELDS = 5;
    private static final int PERCENT = 100;

    private GpuStatusLine() {}

    /** Parses lines; an invalid line is left out, and so is a second line for a device. A field such as {@code [N/A]} is unknown. */
    public static List<DeviceStatus> parse(List<String> lines) {
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
