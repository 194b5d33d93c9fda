package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.Words;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jboss.logging.Logger;

/** Tells the log what could not be seen or judged, once when it begins and once when it is over. */
final class ProblemLog {
    private static final Logger LOG = Logger.getLogger(ProblemLog.class);
    private Set<HostProblem> known = Set.of();

    void tell(List<HostReport> hosts) {
        var now = new LinkedHashSet<HostProblem>();
        for (var host : hosts) {
            host.problems().forEach(problem -> now.add(new HostProblem(host.host(), problem)));
        }
        LogLines.bounded(lines(now, known), "problems").forEach(LOG::warn);
        LogLines.bounded(lines(known, now), "problems").forEach(line -> LOG.infof("Over: %s", line));
        known = now;
    }

    /** What is told is harmless already; what tells two problems apart is not shortened any further. */
    private static List<String> lines(Set<HostProblem> these, Set<HostProblem> notThese) {
        return these.stream()
                .filter(problem -> !notThese.contains(problem))
                .map(problem -> "[%s] %s: %s"
                        .formatted(
                                Words.safe(problem.host()),
                                problem.problem().code(),
                                problem.problem().detail()))
                .toList();
    }
}
