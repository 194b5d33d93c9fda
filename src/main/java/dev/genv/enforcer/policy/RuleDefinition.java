package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Rule.RuleBasis;
import dev.genv.enforcer.policy.Rule.RuleCheck;
import dev.genv.enforcer.policy.Rule.RuleSetting;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What a rule declares of itself. Settings, plan requests, reports and metrics follow from it.
 *
 * @param name the name in settings, reports and metrics, such as {@code env-devices}
 * @param title what a violation is, in a few words for people
 * @param advice what a user can do about a violation: sentences with genv's commands in backquotes
 * @param defaultMode the mode of the rule if it is not configured
 * @param requiredParts the parts of a host that must have been observed before the rule finds anything there
 * @param settings in the order of the documentation, the mode last. A limit, without which the rule does nothing, has the name of the
 *     rule, so the mode has another name then
 * @param check what it checks
 */
public record RuleDefinition(
        String name,
        String title,
        String advice,
        RuleMode defaultMode,
        RuleBasis basis,
        Set<SnapshotPart> requiredParts,
        List<RuleSetting> settings,
        Rule check) {
    private static final long MEBIBYTE = 1 << 20;

    /** Checks the observed hosts of which all required parts were observed. */
    RuleCheck check(Fleet fleet, ExpectedExits ending, Limits limits, IdleLimits idle) {
        var found = new RuleCheck(this, fleet, ending, limits, idle);
        check.check(fleet.snapshots().stream().filter(this::isCheckable).toList(), found);
        return found;
    }

    /** Whether all parts of a host were observed that the rule requires. */
    public boolean isCheckable(Snapshot host) {
        return Collections.disjoint(host.missing(), requiredParts);
    }

    /** Whether the rule acts only on the uids of processes, so that it cannot be enforced where they are not reported. */
    public boolean isEnforcedByUids() {
        return basis == RuleBasis.UIDS || basis == RuleBasis.REAL_UIDS;
    }

    /** Whether what genv's state says can make a process violate the rule. */
    public boolean dependsOnState() {
        return basis != RuleBasis.REAL_UIDS;
    }

    /** Whether a violation is about the attachments of a user on all hosts, so that it belongs to no host. */
    public boolean isOfFleet() {
        return basis == RuleBasis.ATTACHMENTS;
    }

    /** Whether the environments that processes name matter to the rule. */
    public boolean isOfMemberships() {
        return basis != RuleBasis.ATTACHMENTS && basis != RuleBasis.REAL_UIDS;
    }

    /** Whether the rule does nothing without a limit. Then its violations depend on all hosts together. */
    public boolean hasLimit() {
        return settings.stream().anyMatch(setting -> setting.kind().isLimit());
    }

    /** Returns the key of its limits in a policy file, such as {@code max_devices}. */
    public String section() {
        return name.replace("-per-user", "").replace('-', '_');
    }

    private boolean limitsMemory() {
        return settings.stream().anyMatch(setting -> setting.kind() == RuleSetting.Kind.MEMORY_LIMIT);
    }

    /**
     * Reads a limit of this rule. A part of a MiB makes no difference, because nvidia-smi reports whole ones. Less than one is refused: then the
     * unit is missing.
     */
    public Optional<Integer> parseLimit(String text) {
        return limitsMemory()
                ? Memory.parse(text)
                        .filter(memory -> memory.equals(Memory.ZERO) || memory.bytes() >= MEBIBYTE)
                        .map(memory -> (int) Math.min(memory.bytes() / MEBIBYTE, Integer.MAX_VALUE))
                : Optional.of(text)
                        .filter(number -> number.matches("0|[1-9][0-9]{0,8}"))
                        .map(Integer::valueOf);
    }

    /** Returns which texts are limits of this rule; it completes the sentence "expected …". */
    public String limitForm() {
        return limitsMemory() ? "an amount of memory with its unit, such as 40g or 512mi" : "a whole number from 0";
    }

    /** Returns a limit as text. */
    public String limitText(int limit) {
        return limit + (limitsMemory() ? "mi" : "");
    }

    /** Returns the setting of its mode. */
    public RuleSetting modeSetting() {
        return settings.getLast();
    }

    @Override
    public String toString() {
        return name;
    }

    /** What the service does about the violations of a rule. */
    public enum RuleMode implements Labelled {
        /** The rule is not checked. */
        OFF,
        /** Violations are reported only. */
        AUDIT,
        /** Violations are reported, and the service acts on them. */
        ENFORCE;

        /** Returns the mode with this label. */
        public static Optional<RuleMode> find(String label) {
            return Stream.of(values())
                    .filter(mode -> mode.label().equals(label))
                    .findFirst();
        }
    }
}
