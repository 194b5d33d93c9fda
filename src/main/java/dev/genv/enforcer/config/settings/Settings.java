package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** All settings, and the values that the service derives from them. */
public record Settings(
        GeneralSettings general,
        Map<RuleDefinition, RuleConfig> rules,
        SafetySettings safety,
        GpuSettings gpu,
        StateSettings state,
        DataSettings data,
        HttpSettings http,
        NotificationSettings notification,
        RemoteSettings remote) {
    /** The time besides the waits for genv's lock and for nvidia-smi. */
    private static final Duration NODE_MARGIN = Duration.ofSeconds(10);

    private static final Duration CALL_MARGIN = Duration.ofSeconds(1);

    /** Whether the service runs one cycle and exits. */
    public boolean isSingleCycle() {
        return general.interval().isZero();
    }

    /** Whether the service enforces on other machines and not on its own node. */
    public boolean isRemote() {
        return remote.hosts().isPresent() || remote.hostfile().isPresent();
    }

    /** The grace period and limits of actions. A single cycle has no delays, because no later cycle could act. */
    public SafetyLimits safetyLimits() {
        return new SafetyLimits(
                isSingleCycle() ? Duration.ZERO : safety.grace(),
                isSingleCycle() ? null : safety.killAfter().orElse(null),
                safety.compliancePeriod(),
                safety.maxTerminationsPerCycle());
    }

    /** The time limit for observing a host. */
    public Duration observationTimeout() {
        return isRemote() ? callTimeout() : gpu.gpuTimeout().multipliedBy(2).plus(actionTimeout());
    }

    /** The time limit for the actions on a host. On the node, genv's lock may be replaced during the wait for it. */
    public Duration actionTimeout() {
        return isRemote() ? callTimeout() : state.lockTimeout().multipliedBy(2).plus(NODE_MARGIN);
    }

    /**
     * Returns the time limit of a call of a machine: to connect and to observe, or to execute twice, because the state may change in
     * between.
     */
    private Duration callTimeout() {
        return remote.timeout().multipliedBy(2).plus(CALL_MARGIN);
    }

    /** genv's state directory on this node. */
    public Path stateDirectory() {
        return state.stateDir().orElse(state.tmpdir());
    }

    /** The settings of the SSH connections. */
    public SshSettings ssh() {
        return new SshSettings(
                remote.username().orElse(null),
                remote.identityFile().orElse(null),
                remote.passphraseFile().orElse(null),
                remote.sshConfig().orElse(null),
                remote.knownHosts()
                        .orElseThrow(() -> new IllegalStateException("the settings were read without known hosts")),
                remote.timeout());
    }
}
