package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policy.PolicyInForce;
import dev.genv.enforcer.policy.PolicyValues;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The policy of the present cycle, for which it asks once, at its beginning. For a time after a change, the policy before it is remembered:
 * only what all of these and the present one ask for is done, so that a mistake that is taken back costs nobody anything.
 */
public final class CurrentPolicy {
    static final SavedKind<SavedKey, SavedPolicy> POLICIES =
            new SavedKind<>("policy", SavedKey.class, SavedPolicy.class, _ -> "");
    private static final SavedKey PRESENT = new SavedKey("present");
    /** The values of a policy that asks for nothing, because it checks no rule. */
    private static final List<PolicyValues.Text> NOTHING = List.of();
    /** Each cycle checks all of these. */
    private static final int MOST_EARLIER = 64;

    private final Source source;
    private final Duration grace;
    private volatile PolicyInForce now;
    /** The values of the last cycle, also of an earlier run. */
    private PolicyValues last;
    /** The policies that a change replaced, each for the same time after it was last in force. */
    private final List<SavedPolicy> earlier = new ArrayList<>();

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

    /**
     * Begins with the policy at this time; with a grace of zero changes apply at once.
     *
     * @param before the values that count as those of the last cycle if no earlier run stored any
     */
    public CurrentPolicy(Source source, PolicyValues before, Duration grace, Instant start) {
        this.source = source;
        this.grace = grace;
        last = before;
        now = source.at(start);
    }

    /** Returns a policy that never changes. */
    public static CurrentPolicy fixed(Policy policy) {
        var always =
                new PolicyInForce(policy, PolicyValues.NONE, PolicyDocument.empty(ZoneOffset.UTC), Optional.empty());
        return new CurrentPolicy(_ -> always, PolicyValues.NONE, Duration.ZERO, Instant.EPOCH);
    }

    public PolicyInForce get() {
        return now;
    }

    /** Returns for how long the policy before a change still counts. */
    public Duration grace() {
        return grace;
    }

    /**
     * Begins a cycle, and returns what changed, in clauses.
     *
     * @param mark of the clock that counts towards an action
     */
    List<String> begin(Instant time, long mark) {
        now = source.at(time);
        var changes = last.changes(now.values());
        earlier.removeIf(its -> mark >= its.until);
        if (!changes.isEmpty()) {
            remember(last.texts(), mark);
        }
        last = now.values();
        return changes;
    }

    /** Remembers a policy that applied until now. Where there are too many, one that asks for nothing takes its place. */
    private void remember(List<PolicyValues.Text> values, long mark) {
        if (!grace.isZero()) {
            earlier.removeIf(its -> its.values.equals(values));
            var remembered = earlier.size() < MOST_EARLIER ? values : NOTHING;
            earlier.removeIf(its -> its.values.equals(remembered));
            earlier.add(new SavedPolicy(remembered, mark + grace.toNanos()));
        }
    }

    /** Lets every action wait as after a change, because the policies of an earlier run are lost. */
    void hold(long mark) {
        remember(NOTHING, mark);
    }

    /**
     * Returns the policies that applied until changes of the last time. One with other settings asks for nothing, because what was observed
     * depends on the present ones.
     */
    List<EarlierPolicy> earlier(long mark) {
        return earlier.stream()
                .filter(its -> mark < its.until)
                .map(its -> {
                    var values = PolicyValues.of(its.values);
                    var comparable = values.hasSettingsOf(now.values()) ? values : PolicyValues.NONE;
                    return new EarlierPolicy(
                            comparable.policy(now.policy().idle()), Duration.ofNanos(its.until - mark));
                })
                .toList();
    }

    /** Returns the values that matter to observations: whom an earlier policy exempted stays exempt for that time. */
    PolicyValues observed() {
        return earlier.stream()
                .map(its -> PolicyValues.of(its.values))
                .reduce(PolicyValues.NONE, PolicyValues::with)
                .with(now.values());
    }

    SavedState save() {
        var saved = new HashMap<SavedKey, SavedPolicy>();
        saved.put(PRESENT, new SavedPolicy(last.texts(), 0));
        for (var i = 0; i < earlier.size(); i++) {
            saved.put(new SavedKey("earlier " + i), earlier.get(i));
        }
        return SavedState.EMPTY.with(POLICIES, Map.copyOf(saved));
    }

    /**
     * Continues from what an earlier run of the service saved. A shorter grace applies to what it saved, too.
     *
     * @param continues whether the clock continues too; otherwise the time begins again
     */
    void restore(SavedState saved, boolean continues, long mark) {
        var latest = mark + grace.toNanos();
        saved.get(POLICIES).forEach((key, its) -> {
            if (key.equals(PRESENT)) {
                last = PolicyValues.of(its.values);
            } else {
                earlier.add(new SavedPolicy(its.values, continues ? Math.min(its.until, latest) : latest));
            }
        });
        earlier.sort(Comparator.comparingLong(SavedPolicy::until));
    }
}
