package dev.genv.enforcer.api.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.report.ReportView.HostHours;
import dev.genv.enforcer.api.report.ReportView.ReportCsv;
import dev.genv.enforcer.api.report.ReportView.RuleCounts;
import dev.genv.enforcer.api.report.ReportView.UserHours;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReportCsvTest {
    private static final String HEADER =
            "user,host,observed_hours,held_device_hours,used_device_hours,idle_device_hours,rule,violations,terminations,detachments\r\n";

    @Test
    void hasOneHeaderAndOneFormOfRow() {
        var report = report(
                List.of(new HostHours("gpu-1", 24.5), new HostHours("gpu-2", 12)),
                new UserHours("raz", "gpu-1", 12.25, 3, 9.25),
                List.of(new RuleCounts(null, "env-memory", 3, 2, 1)));

        assertThat(ReportCsv.of(report))
                .isEqualTo(HEADER + "\"raz\",\"gpu-1\",24.5,12.25,3.0,9.25,,,,\r\n" + ",\"gpu-2\",12.0,,,,,,,\r\n"
                        + ",,,,,,\"env-memory\",3,2,1\r\n");
    }

    /** The first column is what a user wrote, and the second one the field without its outer quotes. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "=1+1 | '=1+1",
                "+1 | '+1",
                "-1 | '-1",
                "@SUM(A1) | '@SUM(A1)",
                "a=1 | a=1",
                "a,b | a,b",
                "a\"b | a\"\"b",
                "\"=1 | \"\"=1",
                "\\u00e9 | \\u005cu00e9",
                "é\u202e | \\u00e9\\u202e",
                "\ud83d\ude00 | \\U0001f600",
                "`a\r\n=1` | a\\u000d\\u000a=1",
                "`\t=1` | \\u0009=1",
            })
    void textOfUsersIsNeitherAFormulaNorAControlCharacter(String name, String field) {
        assertThat(row(name)).isEqualTo("\"" + field + "\",\"h\",,0.0,0.0,0.0,,,,\r\n");
    }

    @Test
    void longNameIsCut() {
        assertThat(row("x".repeat(5_000))).hasSizeLessThan(200);
    }

    private static String row(@Nullable String user) {
        var report = report(List.of(), new UserHours(user, "h", 0, 0, 0), List.of());
        return ReportCsv.of(report).substring(HEADER.length());
    }

    private static ReportView report(List<HostHours> hosts, UserHours user, List<RuleCounts> rules) {
        return new ReportView(
                Instant.EPOCH, Instant.EPOCH, null, null, true, hosts, List.of(user), List.of(), rules, List.of());
    }
}
