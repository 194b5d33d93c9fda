package dev.genv.enforcer.enforcement.history;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.time.VisibleTime;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** For how long each violation has been reported. */
final class ViolationHistory {
    /** The largest number of absent violations that are remembered, because users choose their number. */
    static final int MAX_REMEMBERED = 10_000;

    private final Duration compliancePeriod;
    private final VisibleTime<Subject> reported;

    /**
     * Creates an empty history.
     *
     * @param compliancePeriod how long a resolved violation is remembered. It is not forgotten at once: the grace period of a process
     *     that breaks a rule only in every second observation would start again each time
     */
    ViolationHistory(Duration compliancePeriod, Ticker ticker) {
        this.compliancePeriod = compliancePeriod;
        reported = new VisibleTime<>(ticker);
    }

    /** Records the violations of a cycle. */
    void record(List<Violation> violations) {
        reported.record(violations.stream()
                .map(violation -> Subject.of(violation.key()))
                .collect(Collectors.toSet()));
    }

    /**
     * Forgets violations that are resolved for the compliance period.
     *
     * @param active the violations that are active, as far as is known
     */
    void forgetResolved(Set<Violation.Key> active) {
        reported.forget(
                compliancePeriod,
                MAX_REMEMBERED,
                active.stream().map(Subject::of).collect(Collectors.toSet()));
    }

    Map<Subject, VisibleTime.Visibility> save() {
        return reported.save();
    }

    void restore(Map<Subject, VisibleTime.Visibility> saved) {
        reported.restore(saved);
    }

    Duration reportedFor(Violation violation) {
        return reported.durationOf(Subject.of(violation.key()));
    }
}
