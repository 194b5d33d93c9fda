package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.api.query.QueryParameters.unreadable;

import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Rules;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The filter of a query for violations. */
public record ViolationFilter(Predicate<ViolationRecord> predicate, int limit) {
    static final int USUAL_LIMIT = 100;
    static final int HIGHEST_LIMIT = 1000;

    private static final Set<String> PARAMETERS = Set.of("rule", "user", "host", "status", "since", "limit");

    /** Parses a query for a list. */
    public static ViolationFilter of(Map<String, List<String>> query) {
        var parameters = new QueryParameters(query, PARAMETERS);
        var which = subject(parameters)
                .and(matching(parameters, "status", ViolationFilter::status))
                .and(since(parameters.begin("since", Instant.EPOCH)));
        return new ViolationFilter(which, limit(parameters.get("limit")));
    }

    /** Parses the parameters for what a violation concerns. */
    public static Predicate<ViolationRecord> subject(QueryParameters parameters) {
        return matching(parameters, "rule", ViolationFilter::rule)
                .and(matching(
                        parameters, "user", user -> entry -> entry.violation().isOfUser(user)))
                .and(matching(
                        parameters,
                        "host",
                        host -> entry -> host.equals(entry.violation().host())));
    }

    private static Predicate<ViolationRecord> matching(
            QueryParameters parameters, String name, Function<String, Predicate<ViolationRecord>> reader) {
        var value = parameters.get(name);
        return value == null ? _ -> true : reader.apply(value);
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

    private static Predicate<ViolationRecord> since(Instant since) {
        return entry -> !entry.recency().latest().isBefore(since);
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
}
