package dev.genv.enforcer.api.report;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.recording.replay.DeviceTime;
import dev.genv.enforcer.recording.replay.EventCounts;
import dev.genv.enforcer.recording.replay.UsageMeter;
import dev.genv.enforcer.recording.replay.ViolationTimeline;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The report of a period. In each list, a user that is null stands for all who are not known.
 *
 * @param recordedSince since when hosts are recorded; null if none is
 * @param eventsRecordedSince since when violations and actions are recorded, so that their counts are complete; null if none is
 * @param complete whether the whole period was read; if not, the time limit ended the reading, or records are damaged or missing
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
    private static final double MILLIS_PER_HOUR = Duration.ofHours(1).toMillis();
    private static final double TEN_THOUSAND = 10_000;
    private static final Comparator<@Nullable String> NAMES = Comparator.nullsLast(Comparator.naturalOrder());

    /** A host, and for how many hours it was observed; the rest of the period is not counted. */
    public record HostHours(String host, double observedHours) {}

    /**
     * The devices of one host that a user held and used. Two devices for an hour are two device hours.
     *
     * @param heldDeviceHours while the devices were attached to an environment of the user
     * @param usedDeviceHours while a process of the user ran on the devices
     */
    public record UserHours(@Nullable String user, String host, double heldDeviceHours, double usedDeviceHours) {}

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

    static List<TimelineEntry> timeline(ViolationTimeline timeline) {
        return timeline.entries().stream()
                .map(entry -> new TimelineEntry(entry.from(), entry.rule(), entry.violations()))
                .toList();
    }

    static List<HostHours> hosts(Map<String, UsageMeter.Usage> usage) {
        return usage.entrySet().stream()
                .map(host -> new HostHours(host.getKey(), hours(host.getValue().observed())))
                .toList();
    }

    static List<UserHours> usage(Map<String, UsageMeter.Usage> usage) {
        var rows = new ArrayList<UserHours>();
        usage.forEach((host, ofHost) -> ofHost.byUser().forEach((user, time) -> rows.add(hours(user, host, time))));
        rows.sort(Comparator.comparing(UserHours::user, NAMES).thenComparing(UserHours::host));
        return rows;
    }

    private static UserHours hours(Optional<String> user, String host, DeviceTime time) {
        return new UserHours(user.orElse(null), host, hours(time.held()), hours(time.used()));
    }

    static List<UserCounts> users(Map<Optional<String>, EventCounts.OfUser> byUser) {
        return byUser.entrySet().stream()
                .map(entry -> {
                    var total = entry.getValue().total();
                    return new UserCounts(
                            entry.getKey().orElse(null), total.violations(), total.terminations(), total.detachments());
                })
                .sorted(Comparator.comparing(UserCounts::user, NAMES))
                .toList();
    }

    static List<RuleCounts> rules(Map<Optional<String>, EventCounts.OfUser> byUser) {
        var rows = new ArrayList<RuleCounts>();
        byUser.forEach((user, counts) -> counts.byRule()
                .forEach((rule, count) -> rows.add(new RuleCounts(
                        user.orElse(null),
                        rule.name(),
                        count.violations(),
                        count.terminations(),
                        count.detachments()))));
        rows.sort(Comparator.comparing(RuleCounts::user, NAMES).thenComparing(RuleCounts::rule));
        return rows;
    }

    /** Rounded to a third of a second. */
    private static double hours(Duration time) {
        return Math.round(time.toMillis() / MILLIS_PER_HOUR * TEN_THOUSAND) / TEN_THOUSAND;
    }

    /**
     * A report as CSV (RFC 4180) in ASCII. A row has the device hours of a user on a host, the hours of a host without users, or the counts
     * of a user for a rule; the other columns are empty.
     */
    static final class ReportCsv {
        private static final String HEADER =
                "user,host,observed_hours,held_device_hours,used_device_hours,rule,violations,terminations,detachments";
        /** Spreadsheets execute text that begins like this, and users choose their names. */
        private static final String FORMULAS = "=+-@";

        private static final int LAST_ASCII = 0x7F;

        private ReportCsv() {}

        static String of(ReportView report) {
            Map<String, Object> observed = report.hosts().stream()
                    .collect(Collectors.toMap(ReportView.HostHours::host, ReportView.HostHours::observedHours));
            var csv = new StringBuilder(HEADER).append("\r\n");
            for (var row : report.usage()) {
                csv.append("%s,%s,%s,%s,%s,,,,\r\n"
                        .formatted(
                                quote(row.user()),
                                quote(row.host()),
                                observed.getOrDefault(row.host(), ""),
                                row.heldDeviceHours(),
                                row.usedDeviceHours()));
            }
            var used = report.usage().stream().map(ReportView.UserHours::host).collect(Collectors.toUnmodifiableSet());
            for (var host : report.hosts()) {
                if (!used.contains(host.host())) {
                    csv.append(",%s,%s,,,,,,\r\n".formatted(quote(host.host()), host.observedHours()));
                }
            }
            for (var row : report.rules()) {
                csv.append("%s,,,,,%s,%s,%s,%s\r\n"
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
