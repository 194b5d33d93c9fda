package dev.genv.enforcer.api.user;

import dev.genv.enforcer.api.view.ViolationView;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.rule.Rules;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Collects what is known of a user. A user is identified as in the quota: by name, or by uid without one. */
final class UserReport {
    /** The largest number of devices, processes and active violations: users choose how many they have. */
    static final int MAX_ENTRIES = 1000;

    static final int MAX_RESOLVED = 100;

    private final String user;
    private final Policy policy;
    private final ViolationRegistry registry;
    private final Map<String, UserOnHost> hosts;

    UserReport(String user, Policy policy, ViolationRegistry registry, Optional<CycleReport> latest) {
        this.user = user;
        this.policy = policy;
        this.registry = registry;
        hosts = latest.stream()
                .flatMap(report -> report.hosts().stream())
                .map(host -> new UserOnHost(user, host))
                .collect(Collectors.toMap(UserOnHost::host, Function.identity()));
    }

    /** Returns the view; empty if neither a host nor a violation knows the user. */
    Optional<UserView> view() {
        var violations = Stream.concat(
                        find(ViolationRecord::active, MAX_ENTRIES), find(entry -> !entry.active(), MAX_RESOLVED))
                .toList();
        if (violations.isEmpty() && hosts.values().stream().noneMatch(UserOnHost::isKnown)) {
            return Optional.empty();
        }
        return Optional.of(new UserView(
                user, limit(), devicesHeld(), each(UserOnHost::devices), each(UserOnHost::processes), violations));
    }

    private Stream<ViolationView> find(Predicate<ViolationRecord> which, int most) {
        return registry.find(which.and(this::concerns), most).stream().map(ViolationView::of);
    }

    /** Whether it is a violation of the user, or one of a process of the user. */
    private boolean concerns(ViolationRecord entry) {
        var violation = entry.violation();
        var host = violation.host() == null ? null : hosts.get(violation.host());
        return user.equals(violation.user())
                || (host != null && violation.processes().stream().anyMatch(host::owns));
    }

    /** Only one rule has limits. */
    private @Nullable Integer limit() {
        var limit = Rules.definitions().stream()
                .map(rule -> policy.limitsOf(rule).limitFor(user))
                .filter(OptionalInt::isPresent)
                .findFirst();
        return limit.map(OptionalInt::getAsInt).orElse(null);
    }

    /** A device that several environments of the user share counts once. */
    private int devicesHeld() {
        return hosts.values().stream()
                .mapToInt(host -> (int) host.devices()
                        .filter(UserView.AttachedView::counted)
                        .map(UserView.AttachedView::device)
                        .distinct()
                        .count())
                .sum();
    }

    private <T> List<T> each(Function<UserOnHost, Stream<T>> part) {
        return hosts.values().stream()
                .sorted(Comparator.comparing(UserOnHost::host))
                .flatMap(part)
                .limit(MAX_ENTRIES)
                .toList();
    }
}
