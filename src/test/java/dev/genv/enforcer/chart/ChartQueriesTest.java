package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleResult;
import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Alerts and dashboard ask for what the service can say; that the metrics exist, a running service tells. */
class ChartQueriesTest {
    @Test
    void everyExpressionIsWhole() {
        var all = Stream.concat(ChartQueries.alerts(), ChartQueries.dashboard()).toList();
        assertThat(all).hasSizeGreaterThan(40).allMatch(query -> new PromExpression(query).isBalanced());
    }

    /** A code that is misspelt would never be an alert. */
    @Test
    void theyKnowTheCodesOfProblems() throws IOException {
        var readme = Files.readString(Path.of("README.md"));
        assertThat(values("code")).hasSizeGreaterThan(8).allMatch(code -> readme.contains("`" + code + "`"));
    }

    @Test
    void theyKnowTheOutcomesAndResults() {
        assertThat(values("outcome"))
                .isNotEmpty()
                .isSubsetOf(Arrays.stream(Outcome.values()).map(Outcome::label).toList());
        assertThat(values("result"))
                .isNotEmpty()
                .isSubsetOf(Arrays.stream(CycleResult.values())
                        .map(CycleResult::label)
                        .toList());
    }

    /** Two installations on one Prometheus do not tell of each other. */
    @Test
    void everyAlertIsAboutThisInstallation() {
        assertThat(ChartQueries.alerts())
                .allSatisfy(query -> assertThat(query.split("\\{", -1).length)
                        .isEqualTo(query.split("\\{namespace=\"gpu\",job=\"genv-enforcer\"", -1).length));
        assertThat(ChartQueries.dashboard().filter(query -> query.contains("{")).toList())
                .allMatch(query -> query.contains("namespace=\"$namespace\""));
    }

    /** Where cycles are rare, ten minutes may see none. */
    @Test
    void rareCyclesAreWaitedFor() {
        assertThat(rules("{prometheusRule: {enabled: true}}"))
                .contains("[600s]")
                .doesNotContain("[5400s]");
        assertThat(rules("{prometheusRule: {enabled: true, staleAfter: 2h}, settings: {interval: 30m}}"))
                .contains("[5400s]", "> 7200")
                .doesNotContain("[600s]");
    }

    /** A series that is born with 1 has not increased. */
    @Test
    void whatIsCountedForTheFirstTimeIsSeen() {
        assertThat(ChartQueries.alerts().filter(query -> query.contains("terminations_total")))
                .isNotEmpty()
                .allMatch(query -> query.contains("unless") && query.contains("offset"));
    }

    @Test
    void thePanelsOfTheDashboardAreOfItsOwn() {
        var board = ChartQueries.board();
        var ids = new HashSet<Integer>();
        for (var panel : board.path("panels")) {
            assertThat(ids.add(panel.path("id").asInt())).isTrue();
            assertThat(panel.path("title").asText()).isNotBlank();
            assertThat(panel.path("description").asText()).isNotBlank();
            assertThat(panel.path("targets")).isNotEmpty();
        }
    }

    private static List<String> values(String label) {
        var matcher = Pattern.compile("\\b%s=~?\"([^\"]*)\"".formatted(label));
        return ChartQueries.alerts()
                .flatMap(query -> matcher.matcher(query).results())
                .flatMap(found -> Arrays.stream(found.group(1).split("\\|", -1)))
                .distinct()
                .toList();
    }

    private static String rules(String values) {
        return RenderedChart.of(values).only("PrometheusRule").toString();
    }
}
