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
    private static final int LONGEST = 1000;
    private Set<HostProblem> known = Set.of();

    void tell(List<HostReport> hosts) {
        var now = new LinkedHashSet<HostProblem>();
        for (var host : hosts) {
            host.problems().forEach(problem -> now.add(new HostProblem(host.host(), problem)));
        }
        now.stream().filter(problem -> !known.contains(problem)).forEach(problem -> LOG.warn(line("", problem)));
        known.stream().filter(problem -> !now.contains(problem)).forEach(problem -> LOG.info(line("Over: ", problem)));
        known = now;
    }

    private static String line(String before, HostProblem problem) {
        return "%s[%s] %s: %s"
                .formatted(
                        before,
                        Words.safe(problem.host()),
                        problem.problem().code(),
                        Words.safe(problem.problem().detail(), LONGEST));
    }
}
