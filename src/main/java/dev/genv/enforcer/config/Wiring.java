package dev.genv.enforcer.config;

import dev.genv.enforcer.api.security.AllowedHosts;
import dev.genv.enforcer.api.security.TokenFile;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.config.settings.reading.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.GpuLossDetector;
import dev.genv.enforcer.enforcement.Records;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.node.NodeName;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.remote.RemoteFleet;
import io.quarkus.runtime.Quarkus;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Creates the objects of the service. Only this class knows the kinds of hosts. */
@Singleton
public class Wiring {
    private static final Logger LOG = Logger.getLogger(Wiring.class);
    private static final Path PROC = Path.of("/proc");
    private static final int RESOLVED_VIOLATIONS_KEPT = 10_000;
    /** The time of an observation besides the wait for genv's lock and two calls of nvidia-smi. */
    private static final Duration MARGIN = Duration.ofSeconds(10);

    private final Settings settings;
    private final @Nullable FleetWiring fleetWiring;
    private @Nullable RemoteFleet fleet;
    private @Nullable NodeMachine node;
    private @Nullable Journal journal;

    Wiring(Settings settings) {
        this.settings = settings;
        fleetWiring = FleetWiring.of(settings);
    }

    @Produces
    @Singleton
    static Settings settings() throws InvalidSettingsException {
        return ProcessSettings.get();
    }

    @Produces
    @Singleton
    CycleSchedule cycleSchedule() {
        return new CycleSchedule(
                settings.general().interval(), observationTimeout().plus(actionTimeout()));
    }

    /** The random numbers for the delay of each cycle, which users must not be able to predict. */
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
    static ViolationRegistry violations(Records records) {
        return records.registry();
    }

    @Produces
    @Singleton
    static EventLog events(Records records) {
        return records.events();
    }

    @Produces
    @Singleton
    Journal journal() {
        journal = JournalWiring.open(settings);
        return journal;
    }

    /** Everything that readers see depends on this, so they see what was restored. */
    @Produces
    @Singleton
    Records records(Journal journal, @ConfigProperty(name = "quarkus.application.version") String version) {
        var mode = settings.general().mode().name().toLowerCase(Locale.ROOT);
        return new Records(
                new ViolationRegistry(RESOLVED_VIOLATIONS_KEPT),
                new EventLog(),
                journal,
                List.of(new EventContent.ServiceStarted(version, mode)));
    }

    @Produces
    @Singleton
    GpuLossDetector gpuLossDetector() {
        return new GpuLossDetector();
    }

    @Produces
    @Singleton
    Enforcer enforcer(
            Records records,
            RecordingWiring recording,
            GpuLossDetector gpus,
            Notifications notifications,
            MetricsWiring metrics)
            throws InterruptedException {
        var config = new EnforcerConfig(
                fleetWiring == null ? node() : fleet(fleetWiring),
                fleetWiring != null,
                new Policy(settings.rules()),
                settings.general().mode(),
                settings.general().terminateProcesses(),
                settings.safetyLimits(),
                settings.general().interval(),
                observationTimeout(),
                actionTimeout(),
                fleetWiring != null && fleetWiring.remote().quiet(),
                () -> Stream.of(notifications.problems(), recording.problems())
                        .flatMap(List::stream)
                        .toList());
        var listeners = new ArrayList<Consumer<CycleReport>>();
        listeners.add(gpus::record);
        listeners.add(notifications::record);
        listeners.addAll(metrics.listeners(records.registry()));
        listeners.add(recording::record);
        listeners.add(this::exitOnError);
        return new Enforcer(config, records, Ticker.ofSystem(), listeners);
    }

    @Produces
    @Singleton
    AllowedHosts allowedHosts() {
        var names = new HashSet<>(settings.http().httpAllowedHosts());
        names.add(nodeName(settings));
        return new AllowedHosts(names);
    }

    static String nodeName(Settings settings) {
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
    public void close() {
        if (journal != null) {
            journal.close();
        }
        if (fleet != null) {
            fleet.close();
        }
        if (node != null) {
            try {
                node.close();
            } catch (IOException e) {
                LOG.debug("The lock of this enforcer is released when the service exits", e);
            }
        }
    }

    /** Exits the service as genv's own flag of this name does. */
    private void exitOnError(CycleReport report) {
        if (fleetWiring != null && fleetWiring.remote().exitOnError()) {
            report.hosts().stream().filter(host -> !host.reached()).findFirst().ifPresent(host -> {
                LOG.errorf("Exiting, because host %s could not be reached", host.host());
                Quarkus.asyncExit(1);
            });
        }
    }

    private Supplier<List<Host>> node() throws InterruptedException {
        var wiring = new NodeWiring(settings, nodeName(settings), PROC);
        node = wiring.machine();
        var host = wiring.host();
        return () -> List.of(host);
    }

    private Duration observationTimeout() {
        if (fleetWiring != null) {
            return fleetWiring.callTimeout();
        }
        return settings.gpu()
                .gpuTimeout()
                .multipliedBy(2)
                .plus(settings.state().lockTimeout().multipliedBy(2)) // it may be created and removed during the wait
                .plus(MARGIN);
    }

    private Duration actionTimeout() {
        if (fleetWiring != null) {
            return fleetWiring.callTimeout();
        }
        return settings.state().lockTimeout().multipliedBy(2).plus(MARGIN); // the lock may be replaced during the wait
    }
}
