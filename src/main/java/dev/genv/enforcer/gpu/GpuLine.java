package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A process on a device, as nvidia-smi lists it.
 *
 * @param memory the used memory; null if the driver does not report it
 */
public record GpuLine(String uuid, int pid, @Nullable Memory memory) {
    private static final Pattern LINE = Pattern.compile("([^,]*),\\s*([1-9][0-9]{0,8})\\s*,([^,]*)");
    private static final Pattern MEBIBYTES = Pattern.compile("[0-9]{1,12}");

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
        var match = LINE.matcher(line);
        if (!match.matches()) {
            GpuToolProblems.add(problems, line);
            return Optional.empty();
        }
        var memory = match.group(3).strip();
        return Optional.of(new GpuLine(
                match.group(1).strip(),
                Integer.parseInt(match.group(2)),
                MEBIBYTES.matcher(memory).matches() ? Memory.ofMebibytes(Long.parseLong(memory)) : null));
    }
}
