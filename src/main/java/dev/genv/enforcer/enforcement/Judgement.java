package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.Words;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What the rules could not judge and the executor would not do, beside what the looks could not see.
 *
 * @param problems by host
 */
record Judgement(Map<String, List<Problem>> problems) {
    /** One user's thousand bad entries are told as one hundred and the number of the others. */
    private static final int MOST_PROBLEMS = 100;

    private static final int LONGEST_DETAIL = 1000;

    /** That of one cycle. */
    static Judgement of(List<HostProblem> executed, List<HostProblem> planned) {
        return new Judgement(Stream.concat(executed.stream(), planned.stream())
                .collect(Collectors.groupingBy(
                        HostProblem::host, Collectors.mapping(HostProblem::problem, Collectors.toList()))));
    }

    /** The reports with it, up to a bound. */
    List<HostReport> addedTo(List<HostReport> hosts) {
        return hosts.stream().map(this::addedTo).toList();
    }

    /** Much of a text may have been written by a stranger, or by a tool. */
    static String harmless(String text) {
        return Words.safe(text, LONGEST_DETAIL);
    }

    private HostReport addedTo(HostReport host) {
        var all = Stream.concat(host.problems().stream(), problems.getOrDefault(host.host(), List.of()).stream())
                .map(problem -> new Problem(problem.code(), harmless(problem.detail())))
                .toList();
        return host.withProblems(all.size() <= MOST_PROBLEMS ? all : cut(all));
    }

    private static List<Problem> cut(List<Problem> problems) {
        var cut = new ArrayList<>(problems.subList(0, MOST_PROBLEMS));
        cut.add(new Problem(ProblemCode.MORE_PROBLEMS, "and %d more".formatted(problems.size() - MOST_PROBLEMS)));
        return cut;
    }
}
