package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The policy of the present cycle, for which it asks once, at its beginning. For a time after a change, the policy before it is remembered:
 * only what both ask for is done, so that a mistake that is taken back costs nobody anything.
 */
public final class CurrentPolicy {
    static final SavedKind<SavedKey, SavedPolicy> POLICIES =
            new SavedKind<>("policy", SavedKey.class, SavedPolicy.class, _ -> "");
    private static final SavedKey PRESENT = new SavedKey("present");
    private static final SavedKey EARLIER = new SavedKey("earlier");

    private final Source source;
    private final Duration grace;
    private volatile PolicyInForce now;
    /** The values of the last cycle, also of an earlier run; null before the first one. */
    private @Nullable PolicyValues last;
    /** The policy before the changes of the last time; null without a change. */
    private @Nullable SavedPolicy earlier;

    /** Where policies come from. */
    @FunctionalInterface
    public interface Source {
        /** Returns the policy at a time. It does not wait for a slow file system for more than a moment. */
        PolicyInForce at(Instant time);
    }

    record SavedKey(String name) {}

    /** @param until until when it is compared with the present policy, by the mark of the clock that counts towards an action */
    record SavedPolicy(List<PolicyValues.Text> values, long until) {}

    /** A policy that applied until a change, and for how long it still counts. */
    record EarlierPolicy(Policy policy, Duration left) {}

    /** Begins with the policy at this time; with a grace of zero changes apply at once. */
    public CurrentPolicy(Source source, Duration grace, Instant start) {
        this.source = source;
        this.grace = grace;
        now = source.at(start);
    }

    /** Returns a policy that never changes. */
    public static CurrentPolicy fixed(Policy policy) {
        var always = new PolicyInForce(policy, PolicyValues.NONE, List.of(), Optional.empty());
        return new CurrentPolicy(_ -> always, Duration.ZERO, Instant.EPOCH);
    }

    public PolicyInForce get() {
        return now;
    }

    /**
     * Begins a cycle, and returns what changed, in clauses.
     *
     * @param mark of the clock that counts towards an action
     */
    List<String> begin(Instant time, long mark) {
        now = source.at(time);
        var values = now.values();
        var before = last == null ? values : last;
        var changes = before.changes(values);
        earlier = earlier == null || mark >= earlier.until ? null : earlier;
        if (!changes.isEmpty() && !grace.isZero()) {
            earlier = new SavedPolicy(earlier == null ? before.texts() : earlier.values, mark + grace.toNanos());
        }
        if (earlier != null && PolicyValues.of(earlier.values).changes(values).isEmpty()) {
            earlier = null;
        }
        last = values;
        return changes;
    }

    /** Returns the policy before the changes of the last time. */
    Optional<EarlierPolicy> earlier(long mark) {
        return Optional.ofNullable(earlier)
                .map(its -> new EarlierPolicy(
                        PolicyValues.of(its.values).policy(now.policy().idle()), Duration.ofNanos(its.until - mark)));
    }

    /** Returns the values that matter to observations: whom the earlier policy exempted stays exempt for that time. */
    PolicyValues observed() {
        return earlier == null ? now.values() : PolicyValues.of(earlier.values).with(now.values());
    }

    SavedState save() {
        var saved = new HashMap<SavedKey, SavedPolicy>();
        if (last != null) {
            saved.put(PRESENT, new SavedPolicy(last.texts(), 0));
        }
        if (earlier != null) {
            saved.put(EARLIER, earlier);
        }
        return SavedState.EMPTY.with(POLICIES, Map.copyOf(saved));
    }

    /**
     * Continues from what an earlier run of the service saved.
     *
     * @param continues whether the clock continues too; otherwise the time begins again
     */
    void restore(SavedState saved, boolean continues, long mark) {
        var policies = saved.get(POLICIES);
        var present = policies.get(PRESENT);
        var before = policies.get(EARLIER);
        last = present == null ? null : PolicyValues.of(present.values);
        earlier = before == null || continues ? before : new SavedPolicy(before.values, mark + grace.toNanos());
    }
}
