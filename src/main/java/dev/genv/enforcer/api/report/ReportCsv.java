package dev.genv.enforcer.api.report;

import dev.genv.enforcer.model.SafeText;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A report as CSV (RFC 4180) in ASCII. A row has the device hours of a user on a host, the hours of a host without users, or the counts
 * of a user for a rule; the other columns are empty.
 */
final class ReportCsv {
    private static final String HEADER =
            "user,host,observed_hours,held_device_hours,used_device_hours,rule,violations,terminations,detachments";
    /** Spreadsheets execute text that begins like this, and users choose their names. */
    private static final String FORMULAS = "=+-@";

    private static final int LAST_ASCII = 0x7F;

    private ReportCsv() {}

    static String of(ReportView report) {
        Map<String, Double> observed = report.hosts().stream()
                .collect(Collectors.toMap(ReportView.HostHours::host, ReportView.HostHours::observedHours));
        var csv = new StringBuilder(HEADER).append("\r\n");
        for (var row : report.usage()) {
            append(
                    csv,
                    row.user(),
                    row.host(),
                    observed.get(row.host()),
                    row.heldDeviceHours(),
                    row.usedDeviceHours(),
                    null,
                    null,
                    null,
                    null);
        }
        var used = report.usage().stream().map(ReportView.UserHours::host).collect(Collectors.toUnmodifiableSet());
        for (var host : report.hosts()) {
            if (!used.contains(host.host())) {
                append(csv, null, host.host(), host.observedHours(), null, null, null, null, null, null);
            }
        }
        for (var row : report.rules()) {
            append(
                    csv,
                    row.user(),
                    null,
                    null,
                    null,
                    null,
                    row.rule(),
                    row.violations(),
                    row.terminations(),
                    row.detachments());
        }
        return csv.toString();
    }

    private static void append(StringBuilder csv, @Nullable Object... fields) {
        csv.append(Arrays.stream(fields)
                        .map(field -> field instanceof String text ? quote(text) : Objects.toString(field, ""))
                        .collect(Collectors.joining(",")))
                .append("\r\n");
    }

    private static String quote(String text) {
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
