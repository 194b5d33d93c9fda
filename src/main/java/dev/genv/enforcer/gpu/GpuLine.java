package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A process on a device, as nvidia-smi lists it.
 *
 * @param memory the used memory; null if the driver does not report it
 */
public record GpuLine(String uuid, int pid, @Nullable Memory memory) {
    private static final int PID_DIGITS = 9;
    private static final int MEMORY_DIGITS = 12;

    /** Returns the use of this device by the process. */
    public DeviceUsage usage(int index) {
        return new DeviceUsage(index, memory);
    }

    /** Parses {@code gpu_uuid, pid, used_gpu_memory}; an invalid line is a problem. */
    public static Found<List<GpuLine>> parse(List<String> text) {
        var problems = new ArrayList<Problem>();
        var lines =
                text.stream().flatMap(line -> parse(line, problems).stream()).toList();
        return Found.of(lines, problems);
    }

    private static Optional<GpuLine> parse(String line, List<Problem> problems) {
        var first = line.indexOf(',');
        var second = line.indexOf(',', first + 1);
        var isWhole = first >= 0 && second >= 0 && line.indexOf(',', second + 1) < 0;
        var pid = isWhole ? line.substring(first + 1, second).strip() : "";
        if (!hasDigits(pid, PID_DIGITS) || pid.startsWith("0")) {
            GpuToolProblems.add(problems, line);
            return Optional.empty();
        }
        return Optional.of(new GpuLine(
                line.substring(0, first).strip(), Integer.parseInt(pid), memory(line.substring(second + 1))));
    }

    private static @Nullable Memory memory(String field) {
        var number = field.strip();
        return hasDigits(number, MEMORY_DIGITS) ? Memory.ofMebibytes(Long.parseLong(number)) : null;
    }

    /** Whether this is a number of at most so many digits. */
    private static boolean hasDigits(String text, int most) {
        for (var i = 0; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return !text.isEmpty() && text.length() <= most;
    }
}
