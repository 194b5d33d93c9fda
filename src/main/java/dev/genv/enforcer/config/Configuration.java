package dev.genv.enforcer.config;

import dev.genv.enforcer.api.ServiceResource.PolicySettings;
import dev.genv.enforcer.api.security.AccessFilter.AllowedHosts;
import dev.genv.enforcer.api.security.ApiTls.TlsFiles;
import dev.genv.enforcer.api.security.ApiToken.TokenFile;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.enforcement.CurrentPolicy;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.CycleStore;
import dev.genv.enforcer.enforcement.EnforcerConfig;
import dev.genv.enforcer.enforcement.EnforcerConfig.Timing;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.ZoneId;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.eclipse.microprofile.config.inject.ConfigProperty;
import org.jspecify.annotations.Nullable;

/** Translates the settings of this process to the values that the beans take. */
@Singleton
public final class Configuration {
    private static final int RESOLVED_VIOLATIONS_KEPT = 10_000;
    private static @Nullable Settings settings;

    /** Reads the settings the first time. The main class and the beans share them. */
    @Produces
    @Singleton
    public static synchronized Settings settings() throws InvalidSettingsException {
        var known = settings;
        if (known == null) {
            known = SettingsReader.read(Variables.ofProcess());
            settings = known;
        }
        return known;
    }

    @Produces
    @Singleton
    static CycleSchedule cycleSchedule(Settings settings) {
        return new CycleSchedule(settings.general().interval(), settings.longestCycle());
    }

    @Produces
    @Singleton
    static SystemdNotifier systemd(CycleSchedule schedule) {
        return new SystemdNotifier(System.getenv(), schedule);
    }

    @Produces
    @Singleton
    static Ticker ticker() {
        return Ticker.ofSystem();
    }

    /** The random numbers for the delay of each cycle, which users must not be able to predict. */
    @Produces
    @Singleton
    static RandomGenerator random() {
        return new SecureRandom();
    }

    @Produces
    @Dependent
    static Optional<TokenFile> apiToken(Settings settings) {
        return settings.http().apiTokenFile().map(TokenFile::new);
    }

    @Produces
    @Dependent
    static Optional<TlsFiles> tlsFiles(Settings settings) {
        return settings.tlsFiles();
    }

    @Produces
    @Singleton
    static AllowedHosts allowedHosts(Settings settings) {
        var names = new HashSet<>(settings.http().httpAllowedHosts());
        names.add(Hosts.nodeName(settings));
        return new AllowedHosts(names);
    }

    @Produces
    @Singleton
    static GenvMetrics genvMetrics(Settings settings) {
        return settings.general().genvMetrics();
    }

    @Produces
    @Singleton
    static PolicySource policies(Settings settings) {
        return new PolicySource(settings, ZoneId.systemDefault());
    }

    @Produces
    @Singleton
    static PolicySettings policySettings(
            Settings settings, @ConfigProperty(name = "quarkus.application.version") String version) {
        return new PolicySettings(
                version, ProtectedExecutable.with(settings.safety().protectedExecutables()));
    }

    /** A gauge that is always 1, for its labels. Quarkus registers it at the start. */
    @Produces
    @Singleton
    static MeterBinder information(Settings settings, PolicySettings service) {
        var mode = settings.general().mode().name().toLowerCase(Locale.ROOT);
        return registry -> Gauge.builder("genv.enforcer.info", () -> 1)
                .description("Always 1. Its labels are the version and the mode of the service")
                .tags("version", service.version(), "mode", mode)
                .register(registry);
    }

    @Produces
    @Singleton
    static CycleStore cycleStore(
            Settings settings,
            Store store,
            @ConfigProperty(name = "quarkus.application.version") String version,
            Ticker ticker) {
        var mode = settings.general().mode().name().toLowerCase(Locale.ROOT);
        return new CycleStore(
                store,
                new ViolationRegistry(RESOLVED_VIOLATIONS_KEPT),
                new EventLog(),
                new DeliveryCursors(),
                List.of(new EventContent.ServiceStarted(version, mode)),
                ticker);
    }

    @Produces
    @Singleton
    static ViolationRegistry violations(CycleStore store) {
        return store.registry();
    }

    @Produces
    @Singleton
    static EventLog events(CycleStore store) {
        return store.events();
    }

    @Produces
    @Singleton
    static DeliveryCursors deliveries(CycleStore store) {
        return store.deliveries();
    }

    @Produces
    @Singleton
    static EnforcerConfig enforcerConfig(Settings settings, Hosts hosts, PolicySource policies, Ticker ticker)
            throws InterruptedException {
        return new EnforcerConfig(
                hosts.open(),
                settings.isRemote(),
                new CurrentPolicy(
                        policies,
                        policies.ofVariables(),
                        settings.isSingleCycle()
                                ? Duration.ZERO
                                : settings.safety().policyGrace(),
                        ticker.now()),
                settings.general().mode(),
                settings.general().terminateProcesses(),
                settings.safetyLimits(),
                new Timing(settings.general().interval(), settings.observationTimeout(), settings.actionTimeout()),
                settings.isRemote() && settings.remote().quiet());
    }
}
