package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * The lines about processes on genv's standard error. A process with an unreadable environment and one without an environment look the same in the snapshot. Only these lines distinguish them.
 */
final class GenvWarnings {
    private static final Pattern NOT_READABLE =
            Pattern.compile("Not enough permissions to query environment of process ([0-9]{1,9})");
    private static final Pattern NOT_ENDED =
            Pattern.compile("Not enough permissions to terminate process ([0-9]{1,9})");
    private static final Pattern GONE = Pattern.compile("Process ([0-9]{1,9}) already terminated");

    /** Only the beginning of the output is kept. If it is cut off, lines about other processes may be missing. */
    private static final int MAY_BE_CUT = 4000;

    private final Set<Integer> unreadable;
    private final Set<Integer> notEnded;
    private final Set<Integer> gone;
    private final boolean mayBeCut;

    GenvWarnings(String errors) {
        unreadable = pids(NOT_READABLE, errors);
        notEnded = pids(NOT_ENDED, errors);
        gone = pids(GONE, errors);
        mayBeCut = errors.length() >= MAY_BE_CUT;
    }

    /** Whether a process had exited when genv read it. */
    boolean isGone(int pid) {
        return gone.contains(pid);
    }

    /** Whether genv lacked the permission to terminate a process. */
    boolean isDenied(int pid) {
        return notEnded.contains(pid);
    }

    /** Returns the membership of a listed process, which is unknown if genv may not have read it. */
    Membership membership(GpuProcess process) {
        return process.membership() instanceof Membership.Outside && (mayBeCut || unreadable.contains(process.pid()))
                ? new Membership.Unknown("genv was not permitted to read its environment: it needs root")
                : process.membership();
    }

    private static Set<Integer> pids(Pattern pattern, String errors) {
        var pids = new HashSet<Integer>();
        pattern.matcher(errors).results().map(GenvWarnings::pid).forEach(pids::add);
        return pids;
    }

    private static Integer pid(MatchResult match) {
        return Integer.valueOf(match.group(1));
    }
}
