package dev.genv.enforcer.api;

import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.rule.Rules;
import jakarta.ws.rs.core.MultivaluedMap;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The filter of a query for violations. */
record ViolationFilter(Predicate<ViolationRecord> predicate, int limit) {
    static final int USUAL_LIMIT = 100;
    static final int HIGHEST_LIMIT = 1000;
    private static final Set<String> NAMES = Set.of("status", "rule", "user", "host", "since", "limit");

    /** Parses the query. An unknown name is refused, because a filter with a typing error must not return everything. */
    static ViolationFilter of(MultivaluedMap<String, String> query) {
        for (var name : query.keySet()) {
            if (!NAMES.contains(name)) {
                throw ApiException.badRequest("the parameter %s is not known; these are: %s"
                        .formatted(name, NAMES.stream().sorted().collect(Collectors.joining(", "))));
            }
            if (query.get(name).size() > 1) {
                throw ApiException.badRequest("the parameter %s is there more than once".formatted(name));
            }
        }
        Predicate<ViolationRecord> which = entry -> true;
        which = and(which, query.getFirst("status"), ViolationFilter::status);
        which = and(which, query.getFirst("rule"), ViolationFilter::rule);
        which = and(which, query.getFirst("since"), ViolationFilter::since);
        which = and(
                which,
                query.getFirst("user"),
                user -> entry -> user.equals(entry.violation().user()));
        which = and(
                which,
                query.getFirst("host"),
                host -> entry -> host.equals(entry.violation().host()));
        return new ViolationFilter(which, limit(query.getFirst("limit")));
    }

    private static Predicate<ViolationRecord> and(
            Predicate<ViolationRecord> before,
            @Nullable String value,
            Function<String, Predicate<ViolationRecord>> reader) {
        return value == null ? before : before.and(reader.apply(value));
    }

    private static Predicate<ViolationRecord> status(String value) {
        return switch (value) {
            case ViolationView.ACTIVE -> ViolationRecord::active;
            case ViolationView.RESOLVED -> entry -> !entry.active();
            default -> throw unreadable("status", value, "active or resolved");
        };
    }

    private static Predicate<ViolationRecord> rule(String value) {
        var rule = Rules.find(value)
                .orElseThrow(() -> unreadable(
                        "rule",
                        value,
                        Rules.definitions().stream().map(RuleDefinition::name).collect(Collectors.joining(", "))));
        return entry -> entry.violation().rule().equals(rule);
    }

    private static Predicate<ViolationRecord> since(String value) {
        try {
            var since = DateTimeFormatter.ISO_DATE_TIME.parse(value, Instant::from);
            return entry -> !entry.recency().latest().isBefore(since);
        } catch (DateTimeParseException e) {
            throw unreadable("since", value, "an instant such as 2026-11-20T09:22:28Z");
        }
    }

    private static int limit(@Nullable String value) {
        if (value == null) {
            return USUAL_LIMIT;
        }
        try {
            var limit = Integer.parseInt(value);
            if (limit >= 1 && limit <= HIGHEST_LIMIT) {
                return limit;
            }
        } catch (NumberFormatException e) {
            // The error is the same as for a number out of bounds.
        }
        throw unreadable("limit", value, "a number from 1 to " + HIGHEST_LIMIT);
    }

    private static ApiException unreadable(String parameter, String value, String expected) {
        return ApiException.badRequest(
                "the parameter %s is \"%s\"; it can be %s".formatted(parameter, value, expected));
    }
}
