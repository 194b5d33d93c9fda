package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.policy.plan.Plan.HostProblem;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The problems of the rules and of the executor, which are added to those of the observations.
 *
 * @param problems the problems by host
 * @param general the problems that concern every host
 */
record HostProblems(Map<String, List<Problem>> problems, List<Problem> general) {
    /** The largest number of reported problems of a host; one more gives the number of the others. */
    private static final int MAX_PROBLEMS = 100;

    private static final int LONGEST_DETAIL = 1000;

    /** Collects the problems of one cycle. */
    static HostProblems of(List<HostProblem> executed, List<HostProblem> planned) {
        return new HostProblems(
                Stream.concat(executed.stream(), planned.stream())
                        .collect(Collectors.groupingBy(
                                HostProblem::host, Collectors.mapping(HostProblem::problem, Collectors.toList()))),
                List.of());
    }

    /** Adds problems that concern every host. */
    HostProblems onEachHost(List<Problem> general) {
        return new HostProblems(problems, general);
    }

    /** Returns the reports with these problems, up to a limit. */
    List<HostReport> addTo(List<HostReport> hosts) {
        return hosts.stream().map(this::addTo).toList();
    }

    /** Users or tools may have written parts of the text. */
    static String escape(String text) {
        return SafeText.escape(text, LONGEST_DETAIL);
    }

    private HostReport addTo(HostReport host) {
        var all = Stream.of(host.problems(), general, problems.getOrDefault(host.host(), List.of()))
                .flatMap(List::stream)
                .map(problem -> new Problem(problem.code(), escape(problem.detail())))
                .toList();
        return host.withProblems(all.size() <= MAX_PROBLEMS ? all : limit(all));
    }

    /** Cuts the most frequent codes first, so that a user who causes many problems of one kind displaces none of another kind. */
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
