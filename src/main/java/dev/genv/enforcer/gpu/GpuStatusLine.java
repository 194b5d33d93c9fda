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
        return index == null
                ? Optional.empty()
                : Optional.of(new DeviceStatus(
                        index.intValue(),
                        temperature(fields[3]),
                        utilization(fields[4]),
                        memory(fields[1]),
                        memory(fields[2])));
    }

    private static @Nullable Integer temperature(String field) {
        var degrees = number(field, "-?[0-9]{1,3}");
        return degrees == null ? null : Integer.valueOf(degrees.intValue());
    }

    private static @Nullable Integer utilization(String field) {
        var percent = number(field, "[0-9]{1,3}");
        return percent == null || percent > PERCENT ? null : Integer.valueOf(percent.intValue());
    }

    private static @Nullable Memory memory(String field) {
        var mebibytes = number(field, "[0-9]{1,12}");
        return mebibytes == null ? null : Memory.ofMebibytes(mebibytes);
    }

    private static @Nullable Long number(String field, String form) {
        var text = field.strip();
        return text.matches(form) ? Long.valueOf(text) : null;
    }
}
