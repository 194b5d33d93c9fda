package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;

/** What nvidia-smi says instead of an answer, in the words of problems. */
final class GpuComplaints {
    static final String GPU_IS_LOST = "[GPU is lost]";
    static final String NO_HANDLE = "Unable to determine the device handle";
    static final String LOST = "what runs on that GPU cannot be seen; reset it or reboot";
    private static final String NO_PERMISSION = "[Insufficient Permissions]";
    private static final String HIDDEN = "a process on a MIG device is hidden from a container that is not privileged";
    private static final int MOST_PROBLEMS = 100;
    private static final int LONGEST_SHOWN = 200;

    private GpuComplaints() {}

    /** What is wrong with a line that tells nothing. */
    static void add(List<Problem> problems, String line) {
        if (line.contains(GPU_IS_LOST) || line.contains(NO_HANDLE)) {
            add(problems, ProblemCode.GPU_LOST, "nvidia-smi says: %s: %s".formatted(shown(line), LOST));
        } else if (line.contains(NO_PERMISSION)) {
            add(problems, ProblemCode.GPU_PROCESS_HIDDEN, "nvidia-smi says: %s: %s".formatted(shown(line), HIDDEN));
        } else {
            add(problems, ProblemCode.GPU_LINE_UNREADABLE, "nvidia-smi says: " + shown(line));
        }
    }

    /** Adds a problem, up to a bound: megabytes of garbage must not become as many complaints. */
    static void add(List<Problem> problems, ProblemCode code, String detail) {
        if (problems.size() < MOST_PROBLEMS) {
            problems.add(new Problem(code, detail));
        } else if (problems.size() == MOST_PROBLEMS) {
            problems.add(
                    new Problem(ProblemCode.GPU_LINE_UNREADABLE, "nvidia-smi says more that cannot be understood"));
        }
    }

    static String shown(String text) {
        return text.length() > LONGEST_SHOWN ? text.substring(0, LONGEST_SHOWN) + "…" : text;
    }
}
