package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import java.util.List;
import java.util.stream.Collectors;

/** The words that people know from genv and grep for. What users wrote is made harmless in them. */
public final class Words {
    /** Longer ids and names are cut: what is shown is for people. */
    private static final int LONGEST = 128;

    private Words() {}

    /** What stands in front of a line about this machine: nothing, as long as there is only our own. */
    public static String on(Fleet fleet, String host) {
        return fleet.remote() ? "[" + safe(host) + "] " : "";
    }

    /** Says what an action is about to do. */
    public static String of(Action action) {
        return switch (action) {
            case Action.Terminate(var host, var process, var signal) ->
                "Terminating process %d from environment %s that is running on GPU(s) %s%s"
                        .formatted(
                                process.pid(),
                                environmentOf(process),
                                list(process.devices()),
                                signal == Signal.KILL ? " with SIGKILL" : "");
            case Action.Detach(var host, var environment, var device, var attachment) ->
                "Detaching environment %s of user %s from device %d"
                        .formatted(safe(environment.eid()), name(environment), device);
        };
    }

    public static String notPermitted(int pid) {
        return "Not enough permissions to terminate process " + pid;
    }

    public static String alreadyTerminated(int pid) {
        return "Process " + pid + " already terminated";
    }

    /** Text of strangers for a terminal or a log: one line, without control characters, of bounded length. */
    public static String safe(String text) {
        return safe(text, LONGEST);
    }

    /** The same, of another length. */
    public static String safe(String text, int longest) {
        var safe = new StringBuilder();
        text.codePoints().limit(longest).forEach(point -> {
            if (isHarmless(point)) {
                safe.appendCodePoint(point);
            } else {
                safe.append(point > 0xFFFF ? "\\U%08x".formatted(point) : "\\u%04x".formatted(point));
            }
        });
        return text.codePointCount(0, text.length()) > longest
                ? safe.append('…').toString()
                : safe.toString();
    }

    /**
     * The same between quotes, for programs: nothing in the text ends them, and each backslash between them begins one of
     * our escapes.
     */
    public static String quoted(String text) {
        return '"' + safe(text.replace("\\", "\\u005c").replace('"', '\'')) + '"';
    }

    static String list(List<Integer> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private static String name(Environment environment) {
        var name = environment.username();
        return name == null || name.isEmpty() ? "N/A" : safe(name);
    }

    /** The id of the environment that a process names, or {@code N/A}. */
    public static String environmentOf(GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? safe(eid) : "N/A";
    }

    private static boolean isHarmless(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED -> false;
            default -> true;
        };
    }
}
