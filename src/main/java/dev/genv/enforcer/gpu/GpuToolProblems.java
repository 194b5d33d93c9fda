package dev.genv.enforcer.gpu;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;

/** Converts messages of nvidia-smi into problems. */
public final class GpuToolProblems {
    static final String GPU_IS_LOST = "[GPU is lost]";
    static final String NO_HANDLE = "Unable to determine the device handle";
    static final String LOST = "the processes on that GPU are unknown; reset it or reboot";
    private static final String NO_PERMISSION = "[Insufficient Permissions]";
    private static final String HIDDEN = "a process on a MIG device is hidden from an unprivileged container";
    private static final int MAX_PROBLEMS = 100;
    private static final int LONGEST_SHOWN = 200;

    private GpuToolProblems() {}

    /** Adds the problem that an invalid line shows. */
    static void add(List<Problem> problems, String line) {
        if (line.contains(GPU_IS_LOST) || line.contains(NO_HANDLE)) {
            add(problems, ProblemCode.GPU_LOST, "nvidia-smi printed: %s: %s".formatted(shorten(line), LOST));
        } else if (line.contains(NO_PERMISSION)) {
            add(
                    problems,
                    ProblemCode.GPU_PROCESS_HIDDEN,
                    "nvidia-smi printed: %s: %s".formatted(shorten(line), HIDDEN));
        } else {
            add(problems, ProblemCode.GPU_LINE_UNREADABLE, "nvidia-smi printed: " + shorten(line));
        }
    }

    /** Adds a problem up to a limit, because invalid output may have megabytes. */
    public static void add(List<Problem> problems, ProblemCode code, String detail) {
        if (problems.size() < MAX_PROBLEMS) {
            problems.add(new Problem(code, detail));
        } else if (problems.size() == MAX_PROBLEMS) {
            problems.add(new Problem(ProblemCode.GPU_LINE_UNREADABLE, "nvidia-smi printed more invalid lines"));
        }
    }

    public static String shorten(String text) {
        return text.length() > LONGEST_SHOWN ? text.substring(0, LONGEST_SHOWN) + "…" : text;
    }
}
