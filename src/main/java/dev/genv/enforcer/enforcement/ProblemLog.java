package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.HostProblem;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Logs each problem once when it begins and once when it is over. */
public final class ProblemLog {
    private static final Logger LOG = Logger.getLogger(ProblemLog.class);
    private static final Set<ProblemCode> CHANGING =
            Set.of(ProblemCode.NOTIFICATION_FAILED, ProblemCode.DATA_UNWRITABLE);

    private final boolean quiet;
    private Set<HostProblem> known = Set.of();
    private Map<String, HostProblem> outOfReach = Map.of();

    /** Creates a log, a quiet one without the hosts that do not answer. */
    public ProblemLog(boolean quiet) {
        this.quiet = quiet;
    }

    /** The problems that began and ended with a cycle. */
    public record Changes(List<HostProblem> began, List<HostProblem> ended) {}

    /** Logs the problems of a cycle, and returns how they differ from those of the cycle before. */
    public Changes log(List<Snapshot> hosts) {
        var now = new LinkedHashSet<HostProblem>();
        var away = new TreeMap<String, HostProblem>();
        var changing = changing();
        for (var host : hosts) {
            if (host.isReached()) {
                host.problems().forEach(problem -> {
                    var reported = new HostProblem(host.host(), problem);
                    now.add(changing.getOrDefault(withoutDetail(reported), reported));
                });
            } else if (!quiet) {
                away.put(host.host(), logUnreachable(host));
            }
        }
        now.addAll(away.values());
        var changes = new Changes(without(known, now), without(now, known));
        ActionLog.limit(lines(changes.began), "problems").forEach(LOG::warn);
        ActionLog.limit(lines(changes.ended), "problems").forEach(line -> LOG.infof("Over: %s", line));
        known = now;
        outOfReach = away;
        return changes;
    }

    /**
     * Returns the known problems whose text can change in every cycle, for example by the number of waiting cycles or by the answer of a
     * mail server. They are reported as they began, because otherwise they would end and begin again on every host.
     */
    private Map<HostProblem, HostProblem> changing() {
        return known.stream()
                .filter(problem -> CHANGING.contains(problem.problem().code()))
                .collect(Collectors.toMap(ProblemLog::withoutDetail, Function.identity(), (first, _) -> first));
    }

    /** What does not change: the text up to the first colon, which is the name of the delivery or of the folder of the database. */
    private static HostProblem withoutDetail(HostProblem problem) {
        var detail = problem.problem().detail();
        var end = detail.indexOf(':');
        var constant = end < 0 ? "" : detail.substring(0, end);
        return new HostProblem(problem.host(), new Problem(problem.problem().code(), constant));
    }

    /** The text for a host that does not answer changes in every cycle, for example by the time of the next attempt. */
    private HostProblem logUnreachable(Snapshot unreachable) {
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
    static Stream<String> lines(Snapshot host, Set<ProblemCode> without) {
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
