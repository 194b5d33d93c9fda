package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.Words;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Tells the log what could not be seen or judged, once when it begins and once when it is over. */
final class ProblemLog {
    private static final Logger LOG = Logger.getLogger(ProblemLog.class);
    private final boolean quiet;
    private Set<HostProblem> known = Set.of();
    private Map<String, HostProblem> outOfReach = Map.of();

    /**
     * Prepares it.
     *
     * @param quiet whether nothing is said of hosts that do not answer
     */
    ProblemLog(boolean quiet) {
        this.quiet = quiet;
    }

    void tell(List<HostReport> hosts) {
        var now = new LinkedHashSet<HostProblem>();
        var away = new TreeMap<String, HostProblem>();
        for (var host : hosts) {
            if (host.reached()) {
                host.problems().forEach(problem -> now.add(new HostProblem(host.host(), problem)));
            } else if (!quiet) {
                away.put(host.host(), told(host));
            }
        }
        now.addAll(away.values());
        LogLines.bounded(lines(now, known), "problems").forEach(LOG::warn);
        LogLines.bounded(lines(known, now), "problems").forEach(line -> LOG.infof("Over: %s", line));
        known = now;
        outOfReach = away;
    }

    /** What is said of a host that does not answer changes from cycle to cycle, if only by when it is tried again. */
    private HostProblem told(HostReport unreachable) {
        var why = unreachable.problems().getFirst();
        var last = outOfReach.get(unreachable.host());
        if (last != null
                && (why.code() == ProblemCode.BUSY
                        || why.code() == last.problem().code())) {
            return last;
        }
        return new HostProblem(unreachable.host(), why);
    }

    /** The problems of a host but those of these codes, a line each. */
    static Stream<String> lines(HostReport host, Set<ProblemCode> without) {
        return host.problems().stream()
                .filter(problem -> !without.contains(problem.code()))
                .map(problem -> line(new HostProblem(host.host(), problem)));
    }

    private static List<String> lines(Set<HostProblem> these, Set<HostProblem> notThese) {
        return these.stream()
                .filter(problem -> !notThese.contains(problem))
                .map(ProblemLog::line)
                .toList();
    }

    /** What is told is harmless already; what tells two problems apart is not shortened any further. */
    private static String line(HostProblem problem) {
        return "[%s] %s: %s"
                .formatted(
                        Words.safe(problem.host()),
                        problem.problem().code().label(),
                        problem.problem().detail());
    }
}
