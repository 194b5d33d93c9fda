package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan.HostProblem;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The problems that are reported besides those of the observations. */
final class HostProblems {
    /** The largest number of reported problems of a host; one more gives the number of the others. */
    private static final int MAX_PROBLEMS = 100;

    private static final int LONGEST_DETAIL = 1000;
    /** A security module can prevent reading and signalling despite all capabilities. */
    private static final String APPARMOR = "APPARMOR";

    static final String KILL = "KILL";
    static final String SYS_PTRACE = "SYS_PTRACE";
    private static final List<String> TO_READ = List.of(SYS_PTRACE, "DAC_READ_SEARCH");
    private static final String NOT_READ =
            ": the kernel denied access to the environment of a process: run as root with --cap-add SYS_PTRACE"
                    + " --cap-add DAC_READ_SEARCH";
    private static final String NOT_SIGNALLED =
            ": the kernel denied a signal to a process: run as root with --cap-add KILL";

    private HostProblems() {}

    /**
     * Returns the fleet with the privileges added to the missing ones that a cycle found to be missing because the kernel denied an access, for
     * example with a security module, and with a problem for each. They count like the missing privileges that a host reports.
     */
    static Fleet addDeniedPrivileges(Fleet fleet, List<ActionRecord> actions) {
        var unsignalled = actions.stream()
                .filter(action -> action.result().outcome() == Outcome.DENIED)
                .map(action -> action.planned().action().host())
                .collect(Collectors.toUnmodifiableSet());
        return fleet.with(fleet.snapshots().stream()
                .map(host -> addDeniedPrivileges(host, unsignalled))
                .toList());
    }

    private static Snapshot addDeniedPrivileges(Snapshot host, Set<String> unsignalled) {
        var known = host.details().missingPrivileges();
        var denied = new LinkedHashMap<String, String>();
        if (!known.contains(APPARMOR)) {
            // If one of the two is known to be missing, it is the reason; otherwise it may be either.
            if (Collections.disjoint(known, TO_READ) && isUnreadable(host)) {
                TO_READ.forEach(privilege -> denied.put(privilege, NOT_READ));
            }
            if (!known.contains(KILL) && unsignalled.contains(host.host())) {
                denied.put(KILL, NOT_SIGNALLED);
            }
        }
        if (denied.isEmpty()) {
            return host;
        }
        var missing = Stream.concat(known.stream(), denied.keySet().stream()).toList();
        var problems = denied.entrySet().stream()
                .map(each -> new Problem(ProblemCode.MISSING_PRIVILEGE, each.getKey() + each.getValue()));
        // First, because the number of reported problems is limited.
        return host.with(host.details().withMissingPrivileges(missing))
                .withProblems(Stream.concat(problems, host.problems().stream()).toList());
    }

    private static boolean isUnreadable(Snapshot host) {
        return host.processes().stream()
                .anyMatch(process -> process.membership().equals(Membership.NOT_PERMITTED));
    }

    /** Returns the fleet with problems that concern every host, and with those of the rules and actions, up to a limit. */
    static Fleet addTo(Fleet fleet, List<Problem> general, List<HostProblem> ofHosts) {
        var byHost = ofHosts.stream()
                .collect(Collectors.groupingBy(
                        HostProblem::host, Collectors.mapping(HostProblem::problem, Collectors.toList())));
        return fleet.with(fleet.snapshots().stream()
                .map(host ->
                        report(host, Stream.of(host.problems(), general, byHost.getOrDefault(host.host(), List.of()))))
                .toList());
    }

    /** Users or tools may have written parts of the text. */
    static String escape(String text) {
        return SafeText.escape(text, LONGEST_DETAIL);
    }

    private static Snapshot report(Snapshot host, Stream<List<Problem>> problems) {
        var all = problems.flatMap(List::stream)
                .map(problem -> new Problem(problem.code(), escape(problem.detail())))
                .toList();
        return host.withProblems(all.size() <= MAX_PROBLEMS ? all : limit(all));
    }

    /** Cuts the most frequent codes first, so that many problems of one kind displace none of another kind. */
    private static List<Problem> limit(List<Problem> problems) {
        var counts = new EnumMap<ProblemCode, Integer>(ProblemCode.class);
        var ranks = problems.stream()
                .map(problem -> counts.merge(problem.code(), 1, Integer::sum))
                .toList();
        var reported = IntStream.range(0, problems.size())
                .boxed()
                .sorted(Comparator.comparing(ranks::get))
                .limit(MAX_PROBLEMS)
                .sorted()
                .map(problems::get);
        var more = new Problem(ProblemCode.MORE_PROBLEMS, "and %d more".formatted(problems.size() - MAX_PROBLEMS));
        return Stream.concat(reported, Stream.of(more)).toList();
    }
}
