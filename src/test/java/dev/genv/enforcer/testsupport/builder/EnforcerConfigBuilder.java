package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.enforcement.CurrentPolicy;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Builds the setup of cycles; by default for one node, in enforce mode, without grace periods and with long time limits. */
public final class EnforcerConfigBuilder {
    private final Supplier<List<Host>> hosts;
    private boolean remote;
    private CurrentPolicy policy = CurrentPolicy.fixed(KnownRules.policy(Map.of(), Limits.NONE));
    private ServiceMode mode = ServiceMode.ENFORCE;
    private boolean signals = true;
    private SafetyLimits safetyLimits = SafetyLimits.NONE;
    private Duration interval = Duration.ofDays(1);
    private Duration observationTimeout = Duration.ofSeconds(60);
    private Duration actionTimeout = Duration.ofSeconds(60);
    private boolean quiet;

    private EnforcerConfigBuilder(Supplier<List<Host>> hosts) {
        this.hosts = hosts;
    }

    public static EnforcerConfigBuilder enforcerConfig(Host... hosts) {
        return enforcerConfig(() -> List.of(hosts));
    }

    public static EnforcerConfigBuilder enforcerConfig(Supplier<List<Host>> hosts) {
        return new EnforcerConfigBuilder(hosts);
    }

    public EnforcerConfigBuilder remote(boolean now) {
        remote = now;
        return this;
    }

    public EnforcerConfigBuilder rules(Map<RuleDefinition, RuleMode> modes, Limits limits) {
        policy = CurrentPolicy.fixed(KnownRules.policy(modes, limits));
        return this;
    }

    /** The same, with these limits of memory per user, too. */
    public EnforcerConfigBuilder rules(Map<RuleDefinition, RuleMode> modes, Limits limits, Limits memory) {
        policy = CurrentPolicy.fixed(KnownRules.policy(modes, limits, memory));
        return this;
    }

    public EnforcerConfigBuilder policy(CurrentPolicy now) {
        policy = now;
        return this;
    }

    public EnforcerConfigBuilder mode(ServiceMode now) {
        mode = now;
        return this;
    }

    public EnforcerConfigBuilder signals(boolean now) {
        signals = now;
        return this;
    }

    public EnforcerConfigBuilder safetyLimits(SafetyLimits now) {
        safetyLimits = now;
        return this;
    }

    public EnforcerConfigBuilder interval(Duration now) {
        interval = now;
        return this;
    }

    public EnforcerConfigBuilder observationTimeout(Duration now) {
        observationTimeout = now;
        return this;
    }

    public EnforcerConfigBuilder actionTimeout(Duration now) {
        actionTimeout = now;
        return this;
    }

    public EnforcerConfigBuilder quiet(boolean now) {
        quiet = now;
        return this;
    }

    public EnforcerConfig build() {
        return new EnforcerConfig(
                hosts,
                remote,
                policy,
                mode,
                signals,
                safetyLimits,
                new EnforcerConfig.Timing(interval, observationTimeout, actionTimeout),
                quiet);
    }
}
