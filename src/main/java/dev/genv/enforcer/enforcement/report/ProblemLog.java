package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.policy.plan.HostProblem;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Logs each problem once when it begins and once when it is over. */
public final class ProblemLog {
    private static final Logger LOG = Logger.getLogger(ProblemLog.class);
    private final boolean quiet;
    private Set<HostProblem> known = Set.of();
    private Map<String, HostProblem> outOfReach = Map.of();

    /**
     * Creates a log.
     *
     * @param quiet whether hosts that do not answer are left out
     */
    public ProblemLog(boolean quiet) {
        this.quiet = quiet;
    }

    /** The problems that began and ended with a cycle. */
    record Changes(List<HostProblem> began, List<HostProblem> ended) {}

    /** Logs the problems of a cycle, and returns how they differ from those of the cycle before. */
    public Changes log(List<HostReport> hosts) {
        var now = new LinkedHashSet<HostProblem>();
        var away = new TreeMap<String, HostProblem>();
        for (var host : hosts) {
            if (host.reached()) {
                host.problems().forEach(problem -> now.add(new HostProblem(host.host(), problem)));
            } else if (!quiet) {
                away.put(host.host(), logUnreachable(host));
            }
        }
        now.addAll(away.values());
        var changes = new Changes(without(known, now), without(now, known));
        LogLines.limit(lines(changes.began), "problems").forEach(LOG::warn);
        LogLines.limit(lines(changes.ended), "problems").forEach(line -> LOG.infof("Over: %s", line));
        known = now;
        outOfReach = away;
        return changes;
    }

    /** The text for a host that does not answer changes in every cycle, for example by the time of the next attempt. */
    private HostProblem logUnreachable(HostReport unreachable) {
        var why = unreachable.problems().getFirst();
        var last = outOfReach.get(unreachable.host());
        if (last != null
                && (why.code() == ProblemCode.BUSY
                        || why.code() == last.problem().code())) {
            return last;
        }
        return new HostProblem(unreachable.host(), why);
    }

    /** Returns a line for each problem of a host, except those with these codes. */
    static Stream<String> lines(HostReport host, Set<ProblemCode> without) {
        return host.problems().stream()
                .filter(problem -> !without.contains(problem.code()))
                .map(problem -> line(new HostProblem(host.host(), problem)));
    }

    private static List<HostProblem> without(Set<HostProblem> some, Set<HostProblem> all) {
        return all.stream().filter(problem -> !some.contains(problem)).toList();
    }

    private static List<String> lines(List<HostProblem> problems) {
        return problems.stream().map(ProblemLog::line).toList();
    }

    /** The text is already escaped. It is not shortened further, so that two problems stay distinct. */
    private static String line(HostProblem problem) {
        return "[%s] %s: %s"
                .formatted(
                        SafeText.escape(problem.host()),
                        problem.problem().code().label(),
                        problem.problem().detail());
    }
}
