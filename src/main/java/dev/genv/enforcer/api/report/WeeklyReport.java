package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.api.report.ReportView.HostHours;
import dev.genv.enforcer.api.report.ReportView.RuleCounts;
import dev.genv.enforcer.api.report.ReportView.UserTotals;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.StoreException;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Writes the report of a period as the text of a mail. */
public final class WeeklyReport {
    /** The largest number of lines of a table: users can write any name. */
    static final int MAX_LINES = 100;

    private static final int LONGEST_NAME = 22;
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("EEEE, d MMMM uuuu, HH:mm", Locale.ENGLISH);
    private static final double HUNDRED = 100;

    private WeeklyReport() {}

    /** Returns the report from one time on until another one, which does not belong to it. */
    public static String text(Database database, ZonedDateTime from, ZonedDateTime to) throws StoreException {
        var period = new Period(from.toInstant(), to.toInstant().minusMillis(1));
        return text(new ReportQueries(database, period).read(), from, to);
    }

    private static String text(ReportView report, ZonedDateTime from, ZonedDateTime to) {
        var held = report.users().stream()
                .filter(user -> user.heldDeviceHours() > 0 || user.presentDeviceHours() > 0)
                .sorted(Comparator.comparingDouble(UserTotals::idleDeviceHours).reversed())
                .toList();
        var rules = report.rules().stream()
                .sorted(Comparator.comparingLong(RuleCounts::terminations)
                        .thenComparingLong(RuleCounts::violations)
                        .reversed())
                .toList();
        return """
            From %s to %s (%s).

            GPU hours of each user, on all hosts together: two GPUs for an hour are two
            hours. Held and unattached hours are as much as used, unknown and idle ones:
            in the used hours the user computed on the GPUs, in the idle ones the user
            did not.

            %s
            %s
            Violations that began, processes that got SIGTERM, and detached GPUs:

            %s
            %s
            %s%s
            --
            This mail is from genv-enforcer, which enforces the GPU allocations that genv
            records. It is sent every Monday.
            """.formatted(
                TIME.format(from),
                TIME.format(to),
                to.getZone(),
                hours("user", "held", "unattached", "used", "unknown", "idle", "idle %"),
                lines(
                        held,
                        user -> hours(
                                name(user.user()),
                                number(user.heldDeviceHours()),
                                number(user.unattachedDeviceHours()),
                                number(user.usedDeviceHours()),
                                number(user.unknownDeviceHours()),
                                number(user.idleDeviceHours()),
                                share(user))),
                counts("user", "rule", "violations", "SIGTERM", "detached"),
                lines(
                        rules,
                        row -> counts(
                                name(row.user()), row.rule(), row.violations(), row.terminations(), row.detachments())),
                unobserved(report, Duration.between(from, to).toHours()),
                report.complete() ? "" : "A part of this time is lost, because the database was damaged.\n");
    }

    private static String hours(Object... columns) {
        return "%-22s %8s %10s %8s %8s %8s %7s".formatted(columns);
    }

    private static String counts(Object... columns) {
        return "%-22s %-22s %10s %7s %8s".formatted(columns);
    }

    private static <T> String lines(List<T> rows, Function<T, String> line) {
        var lines = rows.isEmpty()
                ? Stream.of("none")
                : rows.stream().limit(MAX_LINES).map(line);
        var more = rows.size() <= MAX_LINES ? "" : "and %d more%n".formatted(rows.size() - MAX_LINES);
        return lines.map(String::stripTrailing).collect(Collectors.joining("\n", "", "\n")) + more;
    }

    private static String number(double hours) {
        return String.format(Locale.ROOT, "%.1f", hours);
    }

    private static String share(UserTotals user) {
        var all = user.heldDeviceHours() + user.unattachedDeviceHours();
        return all > 0 ? "%d".formatted(Math.round(HUNDRED * user.idleDeviceHours() / all)) : "";
    }

    private static String name(@Nullable String user) {
        return user == null ? "(unknown)" : SafeText.escape(user, LONGEST_NAME - 1);
    }

    /** Hours that were not observed count for nobody, so the reader must know of them. */
    private static String unobserved(ReportView report, long hours) {
        return report.hosts().stream()
                .filter(host -> host.observedHours() < hours - 1)
                .sorted(Comparator.comparingDouble(HostHours::observedHours))
                .limit(MAX_LINES)
                .map(host -> "%s was observed for %s of %d hours.%n"
                        .formatted(SafeText.escape(host.host()), number(host.observedHours()), hours))
                .collect(Collectors.joining());
    }
}
