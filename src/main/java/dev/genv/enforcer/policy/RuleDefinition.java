package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleDefinition.RuleSetting.Kind;
import java.util.List;
import java.util.Set;

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
 */
public record RuleDefinition(
        String name,
        String title,
        String advice,
        RuleMode defaultMode,
        RuleScope scope,
        RuleBasis basis,
        Set<SnapshotPart> requiredParts,
        List<RuleSetting> settings) {

    /** Returns the observed hosts on which the rule finds violations, because all required parts were observed. */
    public List<Snapshot> checkable(Fleet fleet) {
        var parts = requiredParts.toArray(SnapshotPart[]::new);
        return fleet.snapshots().stream()
                .filter(snapshot -> snapshot.has(parts))
                .toList();
    }

    /** Whether the rule acts only on the uids of processes, so that it cannot be enforced where they are not reported. */
    public boolean isEnforcedByUids() {
        return basis == RuleBasis.UIDS;
    }

    /** Whether the rule checks the processes that the GPU tool does not list, and no others. */
    public boolean isOfUnlistedProcesses() {
        return basis == RuleBasis.UNLISTED_PROCESSES;
    }

    /** Whether the rule does nothing without a limit. */
    public boolean hasLimit() {
        return settings.stream().anyMatch(setting -> setting.kind() == Kind.LIMIT);
    }

    /** Returns the setting of its mode. */
    public RuleSetting modeSetting() {
        return settings.getLast();
    }

    @Override
    public String toString() {
        return name;
    }

    /** What a rule rests on. */
    public enum RuleBasis {
        LISTED_PROCESSES,
        UIDS,
        UNLISTED_PROCESSES
    }

    /** What the service does about the violations of a rule. */
    public enum RuleMode {
        /** The rule is not checked. */
        OFF,
        /** Violations are reported only. */
        AUDIT,
        /** Violations are reported, and the service acts on them. */
        ENFORCE
    }

    /** What a violation of a rule extends over. */
    public enum RuleScope {
        /** One host. The violation is over when its processes exited, or when the host was observed and it was not found. */
        HOST,
        /**
         * All hosts on which one user holds devices. The recorded attachments decide, so the exit of processes does not end the
         * violation.
         */
        FLEET
    }

    /**
     * A setting of a rule.
     *
     * @param name such as {@code env-devices}: the variable is {@code GENV_ENFORCER_ENV_DEVICES}, the field of a plan request
     *     {@code env_devices}, and the value of the chart {@code envDevices}
     * @param meaning sentences for the documentation of the settings, with code in backquotes
     */
    public record RuleSetting(String name, Kind kind, String meaning) {
        /** The type of the value. */
        public enum Kind {
            /** A {@link RuleMode}. */
            MODE,
            /** A {@link RuleMode} other than {@link RuleMode#ENFORCE}: the rule has no action. */
            REPORT_MODE,
            /** A whole number from 0; unset for no limit. */
            LIMIT,
            /** A whole number from 0 for each of some users. */
            LIMITS_OF_USERS
        }
    }
}
