package dev.genv.enforcer.api.report;

import dev.genv.enforcer.model.SafeText;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The report of a period. The hours are counted in whole hours: every one that overlaps the period. In each list, a user that is
 * null stands for all who are not known.
 */
public record ReportView(
        Instant from,
        Instant to,
        @Nullable Instant recordedSince,
        @Nullable Instant eventsRecordedSince,
        boolean complete,
        List<HostHours> hosts,
        List<UserHours> usage,
        List<UserTotals> users,
        List<RuleCounts> rules,
        List<TimelineEntry> timeline) {
    /** A host, and for how many hours it was observed; the rest of the period is not counted. */
    public record HostHours(String host, double observedHours) {}

    /**
     * The devices of one host that a user held and used. Two devices for an hour are two device hours. The hours add up, but for
     * rounding: held and unattached together are used, unknown and idle together.
     */
    public record UserHours(
            @Nullable String user,
            String host,
            double heldDeviceHours,
            double presentDeviceHours,
            double usedDeviceHours,
            double unknownDeviceHours,
            double idleDeviceHours,
            double unattachedDeviceHours) {}

    /** The device hours of a user on all hosts, and what happened to the user, each action once. */
    public record UserTotals(
            @Nullable String user,
            double heldDeviceHours,
            double presentDeviceHours,
            double usedDeviceHours,
            double unknownDeviceHours,
            double idleDeviceHours,
            double unattachedDeviceHours,
            long violations,
            long terminations,
            long detachments) {}

    /** What happened to a user because of a rule. An action that several rules asked for counts for each of them. */
    public record RuleCounts(
            @Nullable String user, String rule, long violations, long terminations, long detachments) {}

    /**
     * The violations of a rule that began in one of 24 equal parts of the period, from its begin. Parts without violations are
     * left out.
     */
    public record TimelineEntry(Instant from, String rule, long violations) {}

    /** The tables of a report as CSV (RFC 4180). A row is a line: only what cannot be printed is escaped. */
    enum Table {
        /** The device hours of each user on each host, and the hours of each host without users. */
        USAGE("user,host,observed_hours,held_device_hours,present_device_hours,used_device_hours,unknown_device_hours,"
                + "idle_device_hours,unattached_device_hours") {
            @Override
            Stream<String> rows(ReportView report) {
                Map<String, Object> observed =
                        report.hosts().stream().collect(Collectors.toMap(HostHours::host, HostHours::observedHours));
                var used = report.usage().stream().map(UserHours::host).collect(Collectors.toUnmodifiableSet());
                return Stream.concat(
                        report.usage().stream()
                                .map(row -> row(
                                        quote(row.user()),
                                        quote(row.host()),
                                        observed.getOrDefault(row.host(), ""),
                                        row.heldDeviceHours(),
                                        row.presentDeviceHours(),
                                        row.usedDeviceHours(),
                                        row.unknownDeviceHours(),
                                        row.idleDeviceHours(),
                                        row.unattachedDeviceHours())),
                        report.hosts().stream()
                                .filter(host -> !used.contains(host.host()))
                                .map(host ->
                                        row("", quote(host.host()), host.observedHours(), "", "", "", "", "", "")));
            }
        },
        /** The counts of each user for each rule. */
        VIOLATIONS("user,rule,violations,terminations,detachments") {
            @Override
            Stream<String> rows(ReportView report) {
                return report.rules().stream()
                        .map(row -> row(
                                quote(row.user()),
                                quote(row.rule()),
                                row.violations(),
                                row.terminations(),
                                row.detachments()));
            }
        };

        /** Spreadsheets execute a text that begins like this (OWASP, CSV injection), and users choose their names. */
        private static final String FORMULAS = "=+-@\t\r";

        private final String header;

        Table(String header) {
            this.header = header;
        }

        abstract Stream<String> rows(ReportView report);

        String write(ReportView report) {
            return Stream.concat(Stream.of(header), rows(report)).collect(Collectors.joining("\r\n", "", "\r\n"));
        }

        private static String row(Object... fields) {
            return Arrays.stream(fields).map(Object::toString).collect(Collectors.joining(","));
        }

        private static String quote(@Nullable String text) {
            if (text == null) {
                return "";
            }
            var isFormula = !text.isEmpty() && FORMULAS.indexOf(text.charAt(0)) >= 0;
            return '"' + (isFormula ? "'" : "") + SafeText.escape(text).replace("\"", "\"\"") + '"';
        }
    }
}
