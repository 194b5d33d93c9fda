package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.RuleDefinition.RuleSetting.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a rule declares of itself. Settings, plan requests, reports and metrics follow from it. */
public final class RuleDefinition {
    private final String name;
    private final String title;
    private final String advice;
    private final RuleMode defaultMode;
    private final RuleScope scope;
    private final Set<SnapshotPart> requiredParts;
    private final boolean enforcedByUids;
    private final boolean ofUnlistedProcesses;
    private final List<RuleSetting> settings;

    private RuleDefinition(Builder builder) {
        name = builder.name;
        title = Objects.requireNonNull(builder.title, "a rule has a title and advice");
        advice = builder.advice;
        defaultMode = Objects.requireNonNull(builder.defaultMode, "a rule has a default mode");
        scope = Objects.requireNonNull(builder.scope, "a rule has a scope");
        requiredParts = Set.copyOf(Objects.requireNonNull(builder.requiredParts, "a rule requires parts"));
        enforcedByUids = builder.enforcedByUids;
        ofUnlistedProcesses = builder.ofUnlistedProcesses;
        settings = List.copyOf(builder.settings);
    }

    /** Begins the definition of a rule with this name, such as {@code env-devices}. */
    public static Builder named(String name) {
        return new Builder(name);
    }

    /** The name in settings, reports and metrics, such as {@code env-devices}. */
    public String name() {
        return name;
    }

    /** What a violation is, in a few words for people. */
    public String title() {
        return title;
    }

    /** What a user can do about a violation: sentences with genv's commands in backquotes. */
    public String advice() {
        return advice;
    }

    public RuleMode defaultMode() {
        return defaultMode;
    }

    public RuleScope scope() {
        return scope;
    }

    /** The parts of a host that must have been observed before the rule finds anything there. */
    public Set<SnapshotPart> requiredParts() {
        return requiredParts;
    }

    /** Returns the observed hosts on which the rule finds violations, because all required parts were observed. */
    public List<Snapshot> checkable(Fleet fleet) {
        var parts = requiredParts.toArray(SnapshotPart[]::new);
        return fleet.snapshots().stream()
                .filter(snapshot -> snapshot.has(parts))
                .toList();
    }

    /** Whether the rule acts only on the uids of processes, so that it cannot be enforced where they are not reported. */
    public boolean isEnforcedByUids() {
        return enforcedByUids;
    }

    /** Whether the rule checks the processes that the GPU tool does not list, and no others. */
    public boolean isOfUnlistedProcesses() {
        return ofUnlistedProcesses;
    }

    /** The settings of the rule, in the order of the documentation. */
    public List<RuleSetting> settings() {
        return settings;
    }

    /** Whether the rule does nothing without a limit. */
    public boolean hasLimit() {
        return settings.stream().anyMatch(setting -> setting.kind() == Kind.LIMIT);
    }

    /** Returns the setting of its mode. The setting of a limit has the name of the rule, so the mode has another name then. */
    public RuleSetting modeSetting() {
        return settings.getLast();
    }

    /** Returns the name. */
    @Override
    public String toString() {
        return name;
    }

    /** Collects what a rule declares; every part that has no default must be set. */
    public static final class Builder {
        private final String name;
        private final List<RuleSetting> settings = new ArrayList<>();
        private @Nullable String title;
        private String advice = "";
        private @Nullable RuleMode defaultMode;
        private @Nullable RuleScope scope;
        private @Nullable Set<SnapshotPart> requiredParts;
        private boolean enforcedByUids;
        private boolean ofUnlistedProcesses;

        private Builder(String name) {
            this.name = name;
        }

        /** Sets the texts for people. See {@link RuleDefinition#title} and {@link RuleDefinition#advice}. */
        public Builder texts(String its, String toDo) {
            title = its;
            advice = toDo;
            return this;
        }

        /** Adds a limit, without which the rule does nothing. Its setting has the name of the rule. */
        public Builder limit(String meaning) {
            settings.add(new RuleSetting(name, Kind.LIMIT, meaning));
            return this;
        }

        /** Adds limits of single users. */
        public Builder limitsOfUsers(String setting, String meaning) {
            settings.add(new RuleSetting(setting, Kind.LIMITS_OF_USERS, meaning));
            return this;
        }

        /** Sets the mode of the rule if it is not configured, and what its setting means. Limits are added before. */
        public Builder mode(RuleMode byDefault, String meaning) {
            defaultMode = byDefault;
            settings.add(new RuleSetting(settings.isEmpty() ? name : name + "-mode", Kind.MODE, meaning));
            return this;
        }

        public Builder scope(RuleScope its) {
            scope = its;
            return this;
        }

        /** Sets the parts of a host that must have been observed before the rule finds anything there. */
        public Builder requires(SnapshotPart... parts) {
            requiredParts = Set.of(parts);
            return this;
        }

        /** Sets what the setting of a rule means that only reports. It is off by default. */
        public Builder reportMode(String meaning) {
            defaultMode = RuleMode.OFF;
            settings.add(new RuleSetting(name, Kind.REPORT_MODE, meaning));
            return this;
        }

        /** Declares that the rule acts only on the uids of processes. */
        public Builder enforcedByUids() {
            enforcedByUids = true;
            return this;
        }

        /** Declares that the rule checks the processes that the GPU tool does not list, and no others. */
        public Builder ofUnlistedProcesses() {
            ofUnlistedProcesses = true;
            return this;
        }

        /**
         * Returns the definition.
         *
         * @throws NullPointerException if a part without a default is missing
         */
        public RuleDefinition build() {
            return new RuleDefinition(this);
        }
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
