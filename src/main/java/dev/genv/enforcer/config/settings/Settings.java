package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.WithName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

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
                isSingleCycle() || safety.killAfter().isZero() ? null : safety.killAfter(),
                safety.compliancePeriod(),
                safety.maxTerminationsPerCycle());
    }

    public IdleLimits idleLimits() {
        return new IdleLimits(safety.idleAfter(), safety.idleUtilization());
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
     * Returns the time limit of a call of a machine: to connect and to observe, or to execute actions, of which none begins in the second half.
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

    /** How the service observes the GPUs. */
    @ConfigMapping(prefix = "genv.enforcer")
    public interface GpuSettings {
        /**
         * Path of nvidia-smi, or its name, which the service looks for in the usual folders. The file and every folder above it must
         * belong to root or to the service's own user, and no other user may be able to write to them.
         */
        @WithDefault("nvidia-smi")
        String nvidiaSmi();

        /**
         * Time that one call of nvidia-smi may take. Increase it if nvidia-smi is slow, for example without persistence mode and with many
         * GPUs.
         */
        @WithDefault("30s")
        @Accepts(SettingKind.TIMEOUT)
        Duration gpuTimeout();

        /**
         * Memory of a GPU that may belong to no listed process. More of it in three observations is a problem, and the service looks for
         * processes that hold the GPU without being listed. Increase it if the driver itself uses more.
         */
        @WithDefault("512mi")
        @Accepts(SettingKind.MEMORY)
        Memory unlistedMemory();
    }

    /** Where genv's state is, and how the service reads it. */
    @ConfigMapping(prefix = "genv")
    public interface StateSettings {
        /**
         * genv's state directory on this node. Unset means the directory of {@code GENV_TMPDIR}. Set it if the service must use
         * another directory than genv's own variable says.
         */
        @WithName("enforcer.state-dir")
        @Accepts(SettingKind.ABSOLUTE_PATH)
        Optional<Path> stateDir();

        /** genv's own variable for its state directory. {@code GENV_ENFORCER_STATE_DIR} takes precedence. */
        @WithDefault("/var/tmp/genv")
        @Accepts(SettingKind.ABSOLUTE_PATH)
        Path tmpdir();

        /**
         * Time for which the service waits for genv's lock. After that it reads the state without the lock and detaches nothing in
         * that cycle. Increase it if genv holds its lock for long, for example because nvidia-smi is slow.
         */
        @WithName("enforcer.lock-timeout")
        @WithDefault("5s")
        @Accepts(SettingKind.TIMEOUT)
        Duration lockTimeout();
    }

    /** The database, which holds what the service remembers. */
    @ConfigMapping(prefix = "genv.enforcer")
    public interface DataSettings {
        /**
         * Folder of the database, which only this service uses. With it, violations, grace periods, pending terminations and recorded
         * observations survive a restart. Unset means that the service keeps the same tables in memory, of about 16 MiB, and a restart
         * forgets them. A single cycle always keeps them in memory. The image sets {@code /var/lib/genv-enforcer}.
         */
        @Accepts(SettingKind.ABSOLUTE_PATH)
        Optional<Path> dataDir();

        /**
         * Largest size of the database in its folder. Three eighths of it are for recorded observations, a quarter for violations, actions
         * and events, and an eighth for the history. Above these limits, the service deletes the oldest entries of the host with the most
         * bytes.
         */
        @WithDefault("256MiB")
        @Accepts(SettingKind.DATA_SIZE)
        Memory dataMaxSize();

        /** Age above which the service deletes what it has stored. */
        @WithDefault("90d")
        @Accepts(SettingKind.AGE)
        Duration dataMaxAge();
    }
}
