package dev.genv.enforcer.api.query;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.query.QueryParameters.Days;
import java.time.LocalDate;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueryParametersTest {
    /** 2026-11-23 is a Monday, 2026-11-29 the Sunday after it. */
    @ParameterizedTest
    @CsvSource({
        "2026-10-31, 2026-11-26, 2026-10-31, 2026-10-31",
        "today,      2026-11-26, 2026-11-26, 2026-11-26",
        "yesterday,  2026-11-01, 2026-10-31, 2026-10-31",
        "this-week,  2026-11-23, 2026-11-23, 2026-11-29",
        "this-week,  2026-11-29, 2026-11-23, 2026-11-29",
        "last-week,  2026-11-23, 2026-11-16, 2026-11-22",
        "last-week,  2026-11-29, 2026-11-16, 2026-11-22",
        "this-month, 2028-02-10, 2028-02-01, 2028-02-29",
    })
    void readsDays(String text, LocalDate today, LocalDate first, LocalDate last) {
        assertThat(Days.parse(text, today)).isEqualTo(new Days(first, last));
    }
}
