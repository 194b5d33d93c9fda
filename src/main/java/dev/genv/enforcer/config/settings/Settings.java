package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.api.security.ApiTls.TlsFiles;
import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.WithName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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

    /** The time limit of a cycle. */
    public Duration longestCycle() {
        return observationTimeout().plus(actionTimeout());
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

    /** The files for TLS on the port of the API; empty without TLS. */
    public Optional<TlsFiles> tlsFiles() {
        return http.tlsCertificateFile()
                .map(certificate -> new TlsFiles(
                        certificate,
                        http.tlsKeyFile()
                                .orElseThrow(() -> new IllegalStateException("the settings were read without a key")),
                        http.tlsClientCaFile().orElse(null)));
    }

    /** The settings of the SSH connections. */
    public SshSettings ssh() {
        return new SshSettings(
                remote.username().orElse(null),
                remote.identityFile().orElse(null),
                remote.passphraseFile().orElse(null),
                remote.sshConfig().orElse(null),
                Optional.ofNullable(System.getenv("SSH_AUTH_SOCK"))
                        .filter(path -> !path.isEmpty())
                        .map(Path::of)
                        .orElse(null),
                remote.knownHosts()
                        .orElseThrow(() -> new IllegalStateException("the settings were read without known hosts")),
                remote.timeout());
    }

    /** What the service does, and how often. */
    @ConfigMapping(prefix = "")
    public interface GeneralSettings {
        /**
         * {@code enforce} executes what the rules require. {@code audit} only reports: the service terminates no process and
         * detaches no environment. Start with {@code audit}, and enforce when you agree with its reports.
         */
        @WithName("genv.enforcer.mode")
        @WithDefault("enforce")
        ServiceMode mode();

        /**
         * YAML file with modes of rules, limits of users and groups, exceptions with an end, hours of the day and exemptions. Its values
         * take the place of those of the variables. The service looks at the file in each cycle, and uses it once it was not written for two seconds; no
         * restart is needed. The file and every folder above it must belong to root or to the service's own user, and no other user may
         * be able to write to them.
         */
        @WithName("genv.enforcer.policy-file")
        @Accepts(SettingKind.FILE_OF_POLICY)
        Optional<Path> policyFile();

        /**
         * Time from the start of one cycle to the start of the next. Each cycle starts up to a fifth of it later, at random,
         * so that users cannot predict it. A shorter interval reacts faster and runs nvidia-smi more often. {@code 0} runs a single
         * cycle, prints its result and exits.
         */
        @WithName("genv.enforcer.interval")
        @WithDefault("10s")
        @Accepts(SettingKind.INTERVAL)
        Duration interval();

        /**
         * genv's own switch. With {@code 0} the service sends no signal; it does everything else, and still detaches environments.
         * Set {@code 0} if genv itself must not terminate processes either.
         */
        @WithName("genv.terminate-processes")
        @WithDefault("1")
        @Accepts(SettingKind.GENV_SWITCH)
        boolean terminateProcesses();

        /**
         * Name of this node in reports, in the log and in the API. Unset means the host's name, also in a container. Set it where
         * the host's name is not unique.
         */
        @WithName("genv.enforcer.node-name")
        Optional<String> nodeName();

        /**
         * genv's own metrics, under the names of {@code genv monitor}, for genv's Grafana dashboard. {@code hosts} exports those of the
         * machines and their devices. {@code all} also exports those of each process, environment and user; their number grows with the
         * number of processes and users, up to a limit. Both values read the temperature, the power and the utilization of the devices in
         * every cycle, not once a minute. This costs one more call of nvidia-smi in each cycle.
         */
        @WithName("genv.enforcer.genv-metrics")
        @WithDefault("off")
        GenvMetrics genvMetrics();

        /** {@code true} writes each line of the log as a JSON object. Set it if a log collector reads the log. */
        @WithName("quarkus.log.console.json.enabled")
        @WithDefault("false")
        boolean logJson();
    }

    /** How the service observes the GPUs. */
    @ConfigMapping(prefix = "genv.enforcer")
    public interface GpuSettings {
        /**
         * Path of nvidia-smi, or its name, which the service looks for in the usual folders. The file and every folder above it must
         * belong to root or to the service's own user, and no other user may be able to write to them. A script needs its {@code #!}
         * line.
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
         * Memory of a GPU that may belong to no listed process. More of it in three observations in a row is the problem
         * {@code unexplained_memory}. Increase it if the driver itself uses more.
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
         * Folder of the database, which only this service uses. With it, violations, grace periods, pending terminations and GPU hours
         * survive a restart. Unset means that the service keeps the same tables in memory, of about 16 MiB, and a restart
         * forgets them. A single cycle always keeps them in memory. The image sets {@code /var/lib/genv-enforcer}.
         */
        @Accepts(SettingKind.ABSOLUTE_PATH)
        Optional<Path> dataDir();

        /**
         * Largest size of the database in its folder. Five eighths of it are for violations, actions and events, an eighth for the
         * usage, and an eighth for the history. Above these limits, the service deletes the oldest entries of the user
         * with the most bytes on the host with the most.
         */
        @WithDefault("256MiB")
        @Accepts(SettingKind.DATA_SIZE)
        Memory dataMaxSize();

        /** Age above which the service deletes what it has stored. */
        @WithDefault("90d")
        @Accepts(SettingKind.AGE)
        Duration dataMaxAge();
    }

    /** Where the service listens, and which requests it answers. Quarkus itself reads the variables {@code QUARKUS_…}. */
    @ConfigMapping(prefix = "")
    public interface HttpSettings {
        /** Address of the API. The image sets {@code 0.0.0.0}. */
        @WithName("quarkus.http.host")
        @WithDefault("127.0.0.1")
        String httpHost();

        /** Port of the API. {@code 0} means any free port. */
        @WithName("quarkus.http.port")
        @WithDefault("8080")
        @Accepts(SettingKind.PORT)
        int httpPort();

        /** Address of health and metrics. The image sets {@code 0.0.0.0}. */
        @WithName("quarkus.management.host")
        @WithDefault("127.0.0.1")
        String managementHost();

        /** Port of health and metrics. {@code 0} means any free port. */
        @WithName("quarkus.management.port")
        @WithDefault("9000")
        @Accepts(SettingKind.PORT)
        int managementPort();

        /**
         * File with a bearer token. If it is set, every request except those for health and for the files of the page requires the token. The service reads the
         * file every second. While the file is missing, unreadable or not a regular file, these requests get 503 and readiness fails.
         * The log warns if a user other than root and the service's own owns the file, can write to it or can replace it.
         */
        @WithName("genv.enforcer.api-token-file")
        @Accepts(SettingKind.FILE_OF_TOKEN)
        Optional<Path> apiTokenFile();

        /**
         * PEM file with the certificate of the API, followed by those of its authorities. If it is set, the port of the API accepts only
         * TLS, and also serves the metrics. Health and metrics on their own port stay without TLS. The service uses the new certificate
         * a few seconds after a change. If the changed files are invalid, it keeps the former certificate and logs the reason.
         */
        @WithName("genv.enforcer.tls-certificate-file")
        @Accepts(SettingKind.READABLE_FILE)
        Optional<Path> tlsCertificateFile();

        /** PEM file with the private key of this certificate: RSA or EC, not encrypted. */
        @WithName("genv.enforcer.tls-key-file")
        @Accepts(SettingKind.READABLE_FILE)
        Optional<Path> tlsKeyFile();

        /**
         * PEM file with the certificates of authorities. If it is set, the port of the API accepts only clients with a certificate that
         * one of them has signed, also browsers and Prometheus. The service reads it again after a change.
         */
        @WithName("genv.enforcer.tls-client-ca-file")
        @Accepts(SettingKind.READABLE_FILE)
        Optional<Path> tlsClientCaFile();

        /**
         * Host names by which clients may address the service, in addition to {@code localhost}, addresses and the node's name. Set
         * it for the names of a proxy. Web pages of these hosts may send requests too. Separate the names by commas or blanks.
         */
        @WithName("genv.enforcer.http-allowed-hosts")
        @WithDefault("")
        @Accepts(SettingKind.HOST_NAMES)
        List<String> httpAllowedHosts();
    }
}
