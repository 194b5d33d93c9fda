package dev.genv.enforcer.config;

import dev.genv.enforcer.api.AllowedHosts;
import dev.genv.enforcer.api.TokenFile;
import dev.genv.enforcer.config.settings.InvalidSettingsException;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Journal;
import dev.genv.enforcer.enforcement.LostGpus;
import dev.genv.enforcer.enforcement.Pace;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.enforcement.Ticker;
import dev.genv.enforcer.node.NodeHost;
import dev.genv.enforcer.node.NodeName;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.telemetry.ActionMetrics;
import dev.genv.enforcer.telemetry.CycleMetrics;
import dev.genv.enforcer.telemetry.HostMetrics;
import dev.genv.enforcer.telemetry.RequestLabels;
import dev.genv.enforcer.telemetry.ViolationMetrics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.quarkus.runtime.Quarkus;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Puts the service together. Nobody but this knows which hosts there are and where their things lie. */
@Singleton
class Wiring {
    private static final Logger LOG = Logger.getLogger(Wiring.class);
    private static final Path PROC = Path.of("/proc");
    private static final int RESOLVED_VIOLATIONS_KEPT = 10_000;
    /** What a look needs beyond the lock and the two calls of nvidia-smi that it may make. */
    private static final Duration SLACK = Duration.ofSeconds(10);

    private final Settings settings;
    private final @Nullable FleetWiring others;
    private @Nullable RemoteFleet fleet;
    private @Nullable NodeHost node;

    Wiring(Settings settings) {
        this.settings = settings;
        others = FleetWiring.of(settings);
    }

    @Produces
    @Singleton
    static Settings settings() throws InvalidSettingsException {
        return ProcessSettings.get();
    }

    @Produces
    @Singleton
    Pace pace() {
        return new Pace(settings.general().interval(), lookTimeout().plus(actTimeout()));
    }

    /** For the delay of each cycle: no user must be able to compute the next one from earlier ones. */
    @Produces
    @Singleton
    RandomGenerator random() {
        return new SecureRandom();
    }

    @Produces
    @Dependent
    Optional<TokenFile> apiToken() {
        return settings.http().apiTokenFile().map(TokenFile::new);
    }

    @Produces
    @Singleton
    Journal journal() {
        return new Journal(RESOLVED_VIOLATIONS_KEPT);
    }

    @Produces
    @Singleton
    LostGpus lostGpus() {
        return new LostGpus();
    }

    @Produces
    @Singleton
    Enforcer enforcer(Journal journal, LostGpus gpus, MeterRegistry registry) throws InterruptedException {
        var setup = new Enforcer.Setup(
                others == null ? node() : fleet(others),
                others != null,
                new Policy(settings.ruleModes(), settings.deviceLimits()),
                settings.general().mode(),
                settings.general().terminateProcesses(),
                settings.safetyLimits(),
                settings.general().interval(),
                lookTimeout(),
                actTimeout(),
                others != null && others.remote().quiet());
        countDroppedLines(registry);
        return new Enforcer(
                setup,
                journal,
                Ticker.ofSystem(),
                List.of(
                        gpus::record,
                        new CycleMetrics(registry)::record,
                        new HostMetrics(registry)::record,
                        new ViolationMetrics(registry, journal)::record,
                        new ActionMetrics(registry)::record,
                        this::endOnError));
    }

    /** What was lost is counted where it is lost, from before there is a registry. */
    private static void countDroppedLines(MeterRegistry registry) {
        FunctionCounter.builder("genv.enforcer.log.lines.dropped", registry, _ -> ConsoleOutput.dropped())
                .description("Lines of the log that were dropped because no process read the output in time")
                .register(registry);
    }

    @Produces
    @Singleton
    AllowedHosts allowedHosts() {
        var names = new HashSet<>(settings.http().httpAllowedHosts());
        names.add(nodeName());
        return new AllowedHosts(names);
    }

    @Produces
    @Singleton
    MeterFilter requestLabels() {
        return new RequestLabels();
    }

    private String nodeName() {
        return settings.general().nodeName().orElseGet(() -> NodeName.of(PROC));
    }

    private Supplier<List<Host>> fleet(FleetWiring wiring) {
        fleet = wiring.fleet();
        LOG.infof(
                "Enforcing on %d host(s) over SSH, state in %s, mode %s",
                fleet.get().size(),
                wiring.remote().stateDir(),
                settings.general().mode().name().toLowerCase(Locale.ROOT));
        return fleet;
    }

    @PreDestroy
    void close() {
        if (fleet != null) {
            fleet.close();
        }
        if (node != null) {
            try {
                node.close();
            } catch (IOException e) {
                LOG.debug("The lock of this enforcer is given back when the process ends", e);
            }
        }
    }

    /** As genv's own flag of that name has it. */
    private void endOnError(CycleReport report) {
        if (others != null && others.remote().exitOnError()) {
            report.hosts().stream().filter(host -> !host.reached()).findFirst().ifPresent(host -> {
                LOG.errorf("Ending, for host %s could not be reached", host.host());
                Quarkus.asyncExit(1);
            });
        }
    }

    private Supplier<List<Host>> node() throws InterruptedException {
        var acts = settings.general().mode() == ServiceMode.ENFORCE;
        var host = new NodeHost(
                nodeName(),
                new NodeHost.Places(
                        PROC,
                        settings.stateDirectory(),
                        settings.state().lockTimeout(),
                        settings.gpuProgram(),
                        settings.gpu().gpuTimeout(),
                        settings.safety().requireHostPid()),
                new NodeHost.Care(
                        List.copyOf(settings.safety().protectedExecutables()),
                        List.copyOf(settings.safety().exemptUsers()),
                        acts,
                        settings.general().terminateProcesses()));
        node = host;
        if (acts) {
            host.openStateDirectoryToEverybody().ifPresent(LOG::warn);
            host.takeCharge().ifPresent(LOG::warn);
        }
        var missing = host.missingRights();
        if (!missing.isEmpty()) {
            LOG.warnf("Privileges are missing: %s", String.join("; ", missing));
        }
        LOG.infof(
                "Node %s, state in %s, mode %s",
                host.name(),
                settings.stateDirectory(),
                settings.general().mode().name().toLowerCase(Locale.ROOT));
        return () -> List.of(host);
    }

    private Duration lookTimeout() {
        if (others != null) {
            return others.mostTime();
        }
        return settings.gpu()
                .gpuTimeout()
                .multipliedBy(2)
                .plus(settings.state().lockTimeout().multipliedBy(2)) // it may come and go while it is waited for
                .plus(SLACK);
    }

    private Duration actTimeout() {
        if (others != null) {
            return others.mostTime();
        }
        return settings.state()
                .lockTimeout()
                .multipliedBy(2)
                .plus(SLACK); // the lock may be replaced while it is waited for
    }
}
