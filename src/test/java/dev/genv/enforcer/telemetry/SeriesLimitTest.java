package dev.genv.enforcer.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.telemetry.GenvCollector.GenvMetric;
import dev.genv.enforcer.telemetry.GenvCollector.Series;
import dev.genv.enforcer.telemetry.GenvCollector.SeriesLimit;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SeriesLimitTest {
    @ParameterizedTest
    @CsvSource({"0, 1000", "1, 1000", "30, 1000", "31, 967", "100, 300", "1000, 30", "100000, 0"})
    void allHostsHaveTheSameShare(int hosts, int limit) {
        assertThat(SeriesLimit.ofEachHost(hosts)).isEqualTo(limit);
    }

    @Test
    void keepsWholeGroups() {
        var first = List.of(series("1"), series("2"));
        var second = List.of(series("3"), series("4"));
        var third = List.of(series("5"));
        assertThat(SeriesLimit.keep(List.of(first, second, third), 3))
                .isEqualTo(new SeriesLimit.Kept(List.of(series("1"), series("2"), series("5")), 2));
        assertThat(SeriesLimit.keep(List.of(first, second, third), 0)).isEqualTo(new SeriesLimit.Kept(List.of(), 5));
    }

    private static Series series(String eid) {
        return new Series(GenvMetric.ENVIRONMENT_PROCESSES, List.of(eid), 1);
    }
}
