package dev.genv.enforcer.api.report;

import dev.genv.enforcer.model.SafeText;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The report of a period. The hours are counted in whole hours: every one that overlaps the period. In each list, a user that is null stands
 * for all who are not known.
 *
 * @param recordedSince since when hosts are recorded; null if none is
 * @param eventsRecordedSince since when violations and actions are recorded, so that their counts are complete; null if none is
 * @param complete whether nothing of the period is lost; if not, the database was damaged and set aside
 */
public record ReportView(
        Instant from,
        Instant to,
        @Nullable Instant recordedSince,
        @Nullable Instant eventsRecordedSince,
        boolean complete,
        List<HostHours> hosts,
        List<UserHours> usage,
        List<UserCounts> users,
        List<RuleCounts> rules,
        List<TimelineEntry> timeline) {
    /** A host, and for how many hours it was observed; the rest of the period is not counted. */
    public record HostHours(String host, double observedHours) {}

    /**
     * The devices of one host that a user held and used. Two devices for an hour are two device hours.
     *
     * @param heldDeviceHours while the devices were attached to an environment of the user
     * @param usedDeviceHours while a process of the user ran on the devices
     * @param idleDeviceHours while the user held the devices and no process of anybody ran on them
     */
    public record UserHours(
            @Nullable String user,
            String host,
            double heldDeviceHours,
            double usedDeviceHours,
            double idleDeviceHours) {}

    /**
     * What happened to a user, each action once.
     *
     * @param violations the violations that began
     * @param terminations the processes that got SIGTERM
     * @param detachments the attachments that were removed
     */
    public record UserCounts(@Nullable String user, long violations, long terminations, long detachments) {}

    /** The same for each rule. An action that several rules asked for counts for each of them. */
    public record RuleCounts(
            @Nullable String user, String rule, long violations, long terminations, long detachments) {}

    /**
     * The violations of a rule that began in one of 24 equal parts of the period, from its begin. Parts without violations are
     * left out.
     */
    public record TimelineEntry(Instant from, String rule, long violations) {}

    /**
     * A report as CSV (RFC 4180) in ASCII. A row has the device hours of a user on a host, the hours of a host without users, or the counts
     * of a user for a rule; the other columns are empty.
     */
    static final class ReportCsv {
        private static final String HEADER =
                "user,host,observed_hours,held_device_hours,used_device_hours,idle_device_hours,rule,violations,terminations,detachments";
        /** Spreadsheets execute text that begins like this, and users choose their names. */
        private static final String FORMULAS = "=+-@";

        private static final int LAST_ASCII = 0x7F;

        private ReportCsv() {}

        static String of(ReportView report) {
            Map<String, Object> observed =
                    report.hosts().stream().collect(Collectors.toMap(HostHours::host, HostHours::observedHours));
            var csv = new StringBuilder(HEADER).append("\r\n");
            for (var row : report.usage()) {
                csv.append("%s,%s,%s,%s,%s,%s,,,,\r\n"
                        .formatted(
                                quote(row.user()),
                                quote(row.host()),
                                observed.getOrDefault(row.host(), ""),
                                row.heldDeviceHours(),
                                row.usedDeviceHours(),
                                row.idleDeviceHours()));
            }
            var used = report.usage().stream().map(UserHours::host).collect(Collectors.toUnmodifiableSet());
            for (var host : report.hosts()) {
                if (!used.contains(host.host())) {
                    csv.append(",%s,%s,,,,,,,\r\n".formatted(quote(host.host()), host.observedHours()));
                }
            }
            for (var row : report.rules()) {
                csv.append("%s,,,,,,%s,%s,%s,%s\r\n"
                        .formatted(
                                quote(row.user()),
                                quote(row.rule()),
                                row.violations(),
                                row.terminations(),
                                row.detachments()));
            }
            return csv.toString();
        }

        private static String quote(@Nullable String text) {
            if (text == null) {
                return "";
            }
            var safe = Arrays.stream(text.split("\\\\", -1)) // no text may imitate an escape
                    .map(part -> ascii(SafeText.escape(part)).replace("\"", "\"\""))
                    .collect(Collectors.joining("\\u005c"));
            return '"' + (isFormula(safe) ? "'" : "") + safe + '"';
        }

        private static boolean isFormula(String text) {
            return !text.isEmpty() && FORMULAS.indexOf(text.charAt(0)) >= 0;
        }

        private static String ascii(String text) {
            return text.codePoints()
                    .mapToObj(point -> point <= LAST_ASCII
                            ? Character.toString(point)
                            : point > Character.MAX_VALUE ? "\\U%08x".formatted(point) : "\\u%04x".formatted(point))
                    .collect(Collectors.joining());
        }
    }
}
