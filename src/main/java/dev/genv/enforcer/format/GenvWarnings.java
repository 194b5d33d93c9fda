package dev.genv.enforcer.format;

import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The lines about processes on genv's standard error. A process with an unreadable environment and one without an environment look the
 * same in the snapshot. Only these lines distinguish them.
 *
 * @param unreadable the processes whose environment genv was not permitted to read
 * @param notTerminated the processes that genv was not permitted to terminate
 * @param gone the processes that had exited before genv read or terminated them
 * @param mayBeCut whether lines about other processes may be missing
 */
public record GenvWarnings(Set<Integer> unreadable, Set<Integer> notTerminated, Set<Integer> gone, boolean mayBeCut) {
    private static final Pattern UNREADABLE =
            Pattern.compile("Not enough permissions to query environment of process ([0-9]{1,9})");
    private static final Pattern NOT_TERMINATED =
            Pattern.compile("Not enough permissions to terminate process ([0-9]{1,9})");
    private static final Pattern GONE = Pattern.compile("Process ([0-9]{1,9}) already terminated");

    /** Only the beginning of the output is kept. */
    private static final int MAY_BE_CUT = 4000;

    /** Finds the lines in the beginning of genv's standard error. */
    public static GenvWarnings parse(String errors) {
        return new GenvWarnings(
                pids(UNREADABLE, errors),
                pids(NOT_TERMINATED, errors),
                pids(GONE, errors),
                errors.length() >= MAY_BE_CUT);
    }

    private static Set<Integer> pids(Pattern pattern, String errors) {
        return pattern.matcher(errors)
                .results()
                .map(match -> Integer.valueOf(match.group(1)))
                .collect(Collectors.toUnmodifiableSet());
    }
}
