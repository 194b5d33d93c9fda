package dev.genv.enforcer.policy;

import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policy.PolicyValues.Sourced;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.TextStyle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A policy file: values that always apply, and values that apply at some times.
 *
 * @param values the values that always apply
 * @param hours later ones take the place of earlier ones
 * @param exceptions later ones take the place of earlier ones
 */
public record PolicyDocument(PolicyValues values, List<Hours> hours, List<PolicyException> exceptions, ZoneId zone) {
    /** How many days hours reach ahead until they repeat. */
    private static final int WEEK = 7;

    /** Returns a document without values. */
    public static PolicyDocument empty(ZoneId zone) {
        return new PolicyDocument(PolicyValues.NONE, List.of(), List.of(), zone);
    }

    /** A time in which values apply: from its begin, and until directly before its end. */
    private record Span(Instant begin, Instant end) {
        boolean contains(Instant at) {
            return !at.isBefore(begin) && at.isBefore(end);
        }
    }

    /**
     * Hours of the day.
     *
     * @param days on which they begin
     * @param to on the next day if it is not after the begin
     */
    public record Hours(Set<DayOfWeek> days, LocalTime from, LocalTime to, PolicyValues values) {
        /** Returns them in the form of the file. */
        Map<String, Object> form() {
            var form = new LinkedHashMap<String, Object>();
            form.put(
                    "days",
                    days.stream()
                            .sorted()
                            .map(day -> day.getDisplayName(TextStyle.SHORT, Locale.ENGLISH))
                            .collect(Collectors.joining(",")));
            form.put("from", from.toString());
            form.put("to", to.toString());
            values.form().forEach((section, all) -> {
                var its = new LinkedHashMap<>(all);
                its.values().removeIf(List.of(Map.of(), List.of())::contains);
                if (!its.isEmpty()) {
                    form.put(section, its);
                }
            });
            return form;
        }

        /**
         * Returns the times around an instant. Where the clock is set forward, a time that does not exist is as much later; where it is set
         * back, a time that exists twice is the first one.
         */
        private Stream<Span> spans(Instant at, ZoneId zone) {
            var today = LocalDate.ofInstant(at, zone);
            return IntStream.rangeClosed(-1, WEEK)
                    .mapToObj(today::plusDays)
                    .filter(day -> days.contains(day.getDayOfWeek()))
                    .map(day -> new Span(
                            day.atTime(from).atZone(zone).toInstant(),
                            day.plusDays(to.isAfter(from) ? 0 : 1)
                                    .atTime(to)
                                    .atZone(zone)
                                    .toInstant()));
        }
    }

    /**
     * Limits of one user or group until a time.
     *
     * @param key without a rule
     * @param limits by the names of rules
     * @param from null for an exception that has begun
     * @param until its end, at which it does not apply
     * @param origin its place in the file
     */
    public record PolicyException(
            PolicyKey key,
            Map<String, Integer> limits,
            @Nullable Instant from,
            Instant until,
            String reason,
            String origin) {
        /** Returns it in the form of the file. */
        public Map<String, String> form() {
            var form = new LinkedHashMap<String, String>();
            form.put(key.kind() == PolicyValues.Kind.USER_EXCEPTION ? "user" : "group", key.name());
            values().all()
                    .forEach((its, value) -> Rules.find(its.rule())
                            .ifPresent(rule -> form.put(rule.section(), PolicyValues.text(its, value.value()))));
            if (from != null) {
                form.put("from", from.toString());
            }
            form.put("until", until.toString());
            form.put("reason", reason);
            return form;
        }

        private Span span() {
            return new Span(from == null ? Instant.MIN : from, until);
        }

        private PolicyValues values() {
            var values = new TreeMap<PolicyKey, Sourced>();
            limits.forEach((rule, limit) -> values.put(
                    new PolicyKey(key.kind(), rule, key.name()),
                    new Sourced(new PolicyValues.Value.Most(limit), origin)));
            return new PolicyValues(values);
        }
    }

    /** The next begin or end of hours or an exception, and how the values change then. */
    public record NextChange(Instant at, List<String> changes) {}

    /** Returns this document with other values, whose place its own ones take. */
    public PolicyDocument over(PolicyValues base) {
        return new PolicyDocument(base.with(values), hours, exceptions, zone);
    }

    /** Returns it in the form of the file, without exceptions that have ended. */
    public Map<String, Object> form(Instant time) {
        var form = new LinkedHashMap<String, Object>(values.form());
        form.put(
                "exceptions",
                exceptions.stream()
                        .filter(each -> each.until.isAfter(time))
                        .map(PolicyException::form)
                        .toList());
        form.put("hours", hours.stream().map(Hours::form).toList());
        return form;
    }

    /** Returns when the exception ends that gives a key its value; empty if it is not of an exception. */
    public Optional<Instant> end(PolicyKey key, Instant time) {
        return exceptions.stream()
                .filter(each ->
                        each.span().contains(time) && each.values().all().containsKey(key))
                .map(PolicyException::until)
                .reduce((_, later) -> later);
    }

    /** Returns the values at a time: those of this document take the place of others with the same key. */
    public PolicyValues at(Instant time, PolicyValues base) {
        var all = new TreeMap<>(base.all());
        all.putAll(values.all());
        hours.stream()
                .filter(each -> each.spans(time, zone).anyMatch(span -> span.contains(time)))
                .forEach(each -> all.putAll(each.values.all()));
        exceptions.stream()
                .filter(each -> each.span().contains(time))
                .forEach(each -> all.putAll(each.values().all()));
        return new PolicyValues(all);
    }

    /** Returns the next begin or end that changes values; empty if there is none. */
    public Optional<NextChange> next(Instant time, PolicyValues base) {
        var present = at(time, base);
        return Stream.concat(
                        hours.stream().flatMap(each -> each.spans(time, zone)),
                        exceptions.stream().map(PolicyException::span))
                .flatMap(span -> Stream.of(span.begin, span.end))
                .filter(time::isBefore)
                .distinct()
                .sorted()
                .map(next -> new NextChange(next, present.changes(at(next, base))))
                .filter(next -> !next.changes.isEmpty())
                .findFirst();
    }
}
