package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.model.ProblemCode;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The queries are valid; another test checks with a running service that their metrics exist. */
class ChartQueriesTest {
    @Test
    void everyExpressionIsBalanced() {
        var all = Stream.concat(ChartQueries.alerts(), ChartQueries.dashboard()).toList();
        assertThat(all).hasSizeGreaterThan(40).allMatch(query -> new ChartQueries.PromExpression(query).isBalanced());
    }

    static Stream<Arguments> labels() {
        return Stream.of(
                arguments("code", Arrays.stream(ProblemCode.values()).map(ProblemCode::label)),
                arguments("outcome", Arrays.stream(Outcome.values()).map(Outcome::label)),
                arguments("result", Arrays.stream(CycleResult.values()).map(CycleResult::label)));
    }

    /** A misspelt problem code would never cause an alert. */
    @ParameterizedTest
    @MethodSource("labels")
    void everyValueOfALabelExists(String label, Stream<String> all) {
        assertThat(values(label)).isNotEmpty().isSubsetOf(all.toList());
    }

    /** Two installations on one Prometheus do not alert for each other. */
    @Test
    void everyQuerySelectsThisInstallation() {
        assertThat(ChartQueries.alerts())
                .allSatisfy(query -> assertThat(query.split("\\{", -1).length)
                        .isEqualTo(query.split("\\{namespace=\"gpu\",job=\"genv-enforcer\"", -1).length));
        assertThat(ChartQueries.dashboard().filter(query -> query.contains("{")).toList())
                .allMatch(query -> query.contains("namespace=\"$namespace\""));
    }

    /** A series that begins with 1 has not increased. */
    @Test
    void alertsDetectTheFirstIncrementOfACounter() {
        assertThat(ChartQueries.alerts().filter(query -> query.contains("terminations_total")))
                .isNotEmpty()
                .allMatch(query -> query.contains("unless") && query.contains("offset"));
    }

    private static List<String> values(String label) {
        var matcher = Pattern.compile("\\b%s=~?\"([^\"]*)\"".formatted(label));
        return ChartQueries.alerts()
                .flatMap(query -> matcher.matcher(query).results())
                .flatMap(found -> Arrays.stream(found.group(1).split("\\|", -1)))
                .distinct()
                .toList();
    }
}
