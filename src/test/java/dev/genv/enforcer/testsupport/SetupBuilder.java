package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Restraint;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** What cycles are about: enforcing on our own machine, at once and with all the time in the world, but for what is said. */
public final class SetupBuilder {
    private final Supplier<List<Host>> hosts;
    private boolean remote;
    private Policy policy = new Policy(Map.of(), DeviceLimits.NONE);
    private ServiceMode mode = ServiceMode.ENFORCE;
    private boolean signals = true;
    private Restraint restraint = Restraint.NONE;
    private Duration interval = Duration.ofDays(1);
    private Duration lookTimeout = Duration.ofSeconds(60);
    private Duration actTimeout = Duration.ofSeconds(60);
    private boolean quiet;

    private SetupBuilder(Supplier<List<Host>> hosts) {
        this.hosts = hosts;
    }

    public static SetupBuilder setup(Host... hosts) {
        return setup(() -> List.of(hosts));
    }

    public static SetupBuilder setup(Supplier<List<Host>> hosts) {
        return new SetupBuilder(hosts);
    }

    public SetupBuilder remote(boolean now) {
        remote = now;
        return this;
    }

    public SetupBuilder rules(Map<RuleName, RuleMode> modes, DeviceLimits limits) {
        policy = new Policy(modes, limits);
        return this;
    }

    public SetupBuilder mode(ServiceMode now) {
        mode = now;
        return this;
    }

    public SetupBuilder signals(boolean now) {
        signals = now;
        return this;
    }

    public SetupBuilder restraint(Restraint now) {
        restraint = now;
        return this;
    }

    public SetupBuilder interval(Duration now) {
        interval = now;
        return this;
    }

    public SetupBuilder lookTimeout(Duration now) {
        lookTimeout = now;
        return this;
    }

    public SetupBuilder actTimeout(Duration now) {
        actTimeout = now;
        return this;
    }

    public SetupBuilder quiet(boolean now) {
        quiet = now;
        return this;
    }

    public Enforcer.Setup build() {
        return new Enforcer.Setup(
                hosts, remote, policy, mode, signals, restraint, interval, lookTimeout, actTimeout, quiet);
    }
}
