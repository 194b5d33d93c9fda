package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.RenderedChart;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Prometheus' own tool accepts the alerts, and each of them fires for its reason, and not for a similar one. */
class AlertRulesTest {
    private static final String PROMTOOL = "/usr/bin/promtool";

    /**
     * The alert, whether it fires, the time, and the series with their values: one a minute, or one in 5 minutes for times of
     * days. {@code _} is a missing value. Rows of alerts that another rendering has are left out.
     */
    private static final String CASES = """
            Down | fires | 10m | up 0x20
            Down | quiet | 10m | up 1x20
            Absent | fires | 20m | up{job="other"} 1x30
            Absent | quiet | 20m | up 0x30
            CycleStalled | fires | 20m | cycle_duration_seconds_count 7x30
            CycleStalled | quiet | 20m | cycle_duration_seconds_count 7+6x30
            CycleFailing | fires | 20m | cycles_total{result="failed"} 0+5x30 & cycles_total{result="success"} 0+1x30
            CycleFailing | quiet | 20m | cycles_total{result="failed"} 0+1x30 & cycles_total{result="success"} 0+5x30
            ActionFailing | fires | 20m | cycles_total{result="action_failed"} 0+5x30 & cycles_total{result="success"} 0+1x30
            ActionFailing | quiet | 20m | cycles_total{result="failed"} 0+5x30 & cycles_total{result="success"} 0+1x30
            CycleStale | fires | 30m | last_success_timestamp_seconds 0x60
            CycleStale | quiet | 30m | last_success_timestamp_seconds 0+60x60
            HostIncomplete | fires | 20m | host_complete{host="a"} 0x30 & host_up{host="a"} 1x30
            HostIncomplete | quiet | 20m | host_complete{host="a"} 0x30 & host_up{host="a"} 0x30
            HostKeyRefused | fires | 15m | host_problems{host="a",code="host_key_changed"} 1x20
            HostKeyRefused | quiet | 15m | host_problems{host="a",code="timeout"} 1x20
            HostUnreachable | fires | 15m | host_up{host="a"} 0x20
            HostUnreachable | quiet | 15m | host_up{host="a"} 0x10 1x10
            PrivilegeMissing | fires | 15m | missing_privileges{privilege="KILL"} 1x20 & host_problems{host="a",code="missing_privilege"} 1x20
            PrivilegeMissing | quiet | 15m | host_problems{host="a",code="busy"} 1x20
            StateUnreadable | fires | 15m | host_problems{host="a",code="state_unreadable"} 1x20
            StateUnreadable | quiet | 15m | host_problems{host="a",code="state_directory_replaced"} 1x20
            GpuToolFailing | fires | 15m | host_problems{host="a",code="gpu_lost"} 1x20
            GpuToolFailing | quiet | 15m | host_problems{host="a",code="gpu_tool_warning"} 1x20
            LockHeld | fires | 15m | host_problems{host="a",code="lock_timeout"} 1x20
            LockHeld | quiet | 12m | host_problems{host="a",code="lock_timeout"} 1x2 stale 1x16
            SecondEnforcer | fires | 15m | host_problems{host="a",code="second_enforcer"} 1x20
            SecondEnforcer | quiet | 15m | host_problems{host="a",code="duplicate_host"} 1x20
            TerminationLimitReached | fires | 15m | host_problems{host="a",code="termination_limit_reached"} 1x20
            TerminationLimitReached | quiet | 15m | host_problems{host="a",code="termination_limit_reached"} 1x3 _x20
            ProcessUnkillable | fires | 15m | terminations_total{outcome="unkillable",signal="KILL"} _x9 1x20
            ProcessUnkillable | quiet | 25m | terminations_total{outcome="unkillable",signal="KILL"} 1x30
            DatabaseFailing | fires | 15m | host_problems{host="a",code="data_unwritable"} 1x20
            DatabaseFailing | quiet | 15m | host_problems{host="a",code="data_not_restored"} 1x20
            DeliveryFailing | fires | 15m | host_problems{host="a",code="notification_failed"} 1x20
            DeliveryFailing | quiet | 15m | host_problems{host="a",code="timeout"} 1x20
            AuditMode | fires | 170h | info{mode="audit",version="1"} 1x2100 & active_violations{rule="r",mode="audit"} 0x2000 3x100
            AuditMode | fires | 170h | info{mode="audit",version="1"} 1x999 _x1101 & info{mode="audit",version="2"} _x1020 1x1080 & active_violations{rule="r",mode="audit"} 3x2100
            AuditMode | quiet | 170h | info{mode="audit",version="1"} 1x2100 & active_violations{rule="r",mode="audit"} 3x2000 0x100
            AuditMode | quiet | 160h | info{mode="audit",version="1"} 1x2100 & active_violations{rule="r",mode="audit"} 3x2100
            AuditMode | quiet | 170h | info{mode="enforce",version="1"} 1x2100 & active_violations{rule="r",mode="audit"} 3x2100
            AuditMode | quiet | 170h | info{mode="audit",version="1"} 1x999 _x11 1x1090 & info{mode="enforce",version="1"} _x1000 1x8 _x1092 & active_violations{rule="r",mode="audit"} 3x2100
            ViolationLasts | fires | 15m | oldest_violation_seconds{rule="env-devices"} 86500+60x20
            ViolationLasts | quiet | 15m | oldest_violation_seconds{rule="env-devices"} 80000+60x20
            SettingUserUnknown | fires | 15m | host_problems{host="a",code="setting_user_unknown"} 1x20
            SettingUserUnknown | quiet | 15m | host_problems{host="a",code="environment_user_unknown"} 1x20
            AccountsUnreadable | fires | 15m | host_problems{host="a",code="passwd_unreadable"} 1x20
            AccountsUnreadable | quiet | 15m | host_problems{host="a",code="passwd_unreadable"} 1x5 _x15
            MembershipUnknown | fires | 15m | host_problems{host="a",code="membership_unknown"} 2x20
            MembershipUnknown | quiet | 15m | host_problems{host="a",code="membership_unknown"} 2x5 _x15
            PolicyUnreadable | fires | 15m | host_problems{host="a",code="policy_unreadable"} 1x20
            PolicyUnreadable | quiet | 15m | host_problems{host="a",code="state_unreadable"} 1x20
            """;

    private static final Pattern SERIES = Pattern.compile("(\\w+)(?:\\{(.*)})? ([^{}]+)");

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"node", "remote", "bare"})
    void eachAlertFiresForItsReasonOnly(String rendering) throws IOException {
        Requirements.program(PROMTOOL, "prometheus");
        var alerts = switch (rendering) {
            case "node" -> ChartQueriesTest.rules(ChartQueriesTest.ALERTS);
            case "remote" -> ChartQueriesTest.rules(RenderedChart.example("remote"));
            default -> MonitoringFilesTest.alerts();
        };
        Files.writeString(folder.resolve("alerts.yml"), MonitoringFilesTest.rulesFile(alerts));
        Programs.run(PROMTOOL, "check", "rules", "--lint=all", "--lint-fatal", folder + "/alerts.yml");

        var names = alerts.findValuesAsText("alert");
        var cases = CASES.lines()
                .map(line -> line.split(" \\| ", -1))
                .filter(row -> names.contains("GenvEnforcer" + row[0]))
                .toList();
        assertThat(cases.stream().map(row -> row[0] + " " + row[1]).distinct())
                .as("each alert has a row of both kinds")
                .hasSize(2 * names.size());
        runTests("short", "1m", "1m", cases.stream().filter(row -> row[2].endsWith("m")));
        runTests("long", "5m", "1h", cases.stream().filter(row -> row[2].endsWith("h")));
    }

    private void runTests(String name, String interval, String evaluation, Stream<String[]> cases) throws IOException {
        var tests = cases.map(row -> """
                  - name: '%1$s %2$s: %4$s'
                    interval: %5$s
                    input_series:
                %6$s
                    promql_expr_test:
                      - expr: count by (alertname) (ALERTS{alertstate="firing",alertname="GenvEnforcer%1$s"}) > bool 0
                        eval_time: %3$s
                        exp_samples: [%7$s]
                """.formatted(
                                row[0],
                                row[1],
                                row[2],
                                row[3],
                                interval,
                                Arrays.stream(row[3].split(" & ", -1))
                                        .map(AlertRulesTest::series)
                                        .collect(Collectors.joining("\n")),
                                row[1].equals("fires")
                                        ? "{labels: '{alertname=\"GenvEnforcer%s\"}', value: 1}".formatted(row[0])
                                        : ""))
                .collect(Collectors.joining());
        var file = Files.writeString(
                folder.resolve(name + ".yml"),
                "rule_files: [alerts.yml]\nevaluation_interval: %s\ntests:\n%s".formatted(evaluation, tests));
        Programs.run(PROMTOOL, "test", "rules", file.toString());
    }

    private static String series(String text) {
        var parts = SERIES.matcher(text);
        assertThat(parts.matches()).as(text).isTrue();
        var name = parts.group(1).equals("up") ? "up" : "genv_enforcer_" + parts.group(1);
        var labels = parts.group(2) == null ? "" : parts.group(2) + ",";
        var job = labels.contains("job=") ? "" : "job=\"genv-enforcer\",";
        return "      - {series: '%s{%s%snamespace=\"gpu\",instance=\"a:9000\"}', values: '%s'}"
                .formatted(name, labels, job, parts.group(3));
    }
}
