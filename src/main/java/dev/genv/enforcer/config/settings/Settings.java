package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.policy.definition.RuleConfig;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.remote.ssh.config.SshSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * All settings, and the values that the service derives from them.
 *
 * @param rules the configuration of each rule
 */
public record Settings(
        GeneralSettings general,
        Map<RuleDefinition, RuleConfig> rules,
        SafetySettings safety,
        GpuSettings gpu,
        StateSettings state,
        JournalSettings journal,
        HttpSettings http,
        NotificationSettings notification,
        RemoteSettings remote) {

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
