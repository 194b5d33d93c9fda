package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.query.QueryParameters.Days;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord.Recency;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the parameters of a query mean. */
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

    @ParameterizedTest
    @CsvSource({
        "status,active,true",
        "status,resolved,false",
        "rule,non-env-processes,true",
        "rule,env-memory,false",
        "host,gpu-1,true",
        "host,gpu-2,false",
        "since,2026-11-20T10:22:28+01:00,true",
        "since,2026-11-20T09:22:28.001Z,false",
    })
    void filtersByEachParameter(String parameter, String value, boolean matches) {
        var filter = ViolationFilter.of(Map.of(parameter, List.of(value)));

        assertThat(filter.predicate().test(violationOf(process(7)).build())).isEqualTo(matches);
    }

    private static final RuleDefinition STRAY = KnownRules.NON_ENV_PROCESSES;

    @Test
    void userFindsWhatIsShownAndTheProcessesOfTheUser() {
        assertThat(users(STRAY, "carol", process(1).uid(1503).recorded("carol")))
                .containsExactly("carol");
        assertThat(users(STRAY, null, process(1).uid(1503))).containsExactly("1503");
        assertThat(users(KnownRules.ENV_DEVICES, "raz", process(1).uid(1503).recorded("carol")))
                .as("the user of the environment, and that of the process")
                .containsExactly("raz", "carol");
        assertThat(users(KnownRules.ENV_OWNER, "raz", process(1).uid(1503).recorded("carol")))
                .as("a stranger in an environment")
                .containsExactly("raz", "carol");
    }

    private static List<String> users(RuleDefinition rule, @Nullable String user, GpuProcessBuilder process) {
        var violation = new Violation(rule, "gpu-1", "x", "x", user, null, List.of(), List.of(process.build()));
        var entry = ViolationRecord.begin(
                violation, RuleMode.AUDIT, Instant.EPOCH, new Recency(1, Instant.EPOCH), List.of());
        return Stream.of("raz", "carol", "1503")
                .filter(name -> ViolationFilter.of(Map.of("user", List.of(name)))
                        .predicate()
                        .test(entry))
                .toList();
    }
}
