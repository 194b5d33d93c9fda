package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.RemoteSettings;
import dev.genv.enforcer.config.settings.SafetySettings.OverwrittenEnviron;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.proc.MachineFiles;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Needs;
import dev.genv.enforcer.observation.ObserverSettings.Privileges;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostFile;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.remote.agent.AgentMachine;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.ssh.SshAccess;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import io.quarkus.runtime.Quarkus;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** The hosts on which the service enforces: its own node, or machines over SSH. Only this class knows these kinds. */
@Singleton
public class Hosts implements CycleListener {
    /** How old what the driver measures may be if only the page shows it. */
    private static final Duration USUAL_STATUS_AGE = Duration.ofMinutes(1);

    private static final Logger LOG = Logger.getLogger(Hosts.class);
    /** A directory that needs longer is asked again later. */
    private static final Duration LOOKUP_TIMEOUT = Duration.ofSeconds(1);

    private static final Path PROC = Path.of("/proc");
    // The waits of an observation on a machine must end before the time limit of its command.
    private static final int LOCK_PERCENT = 15;
    private static final int GPU_PERCENT = 30;

    private final Settings settings;
    private final RemoteSettings remote;
    private Closeable opened = () -> {};

    Hosts(Settings settings) {
        this.settings = settings;
        remote = settings.remote();
    }

    static String nodeName(Settings settings) {
        return settings.general().nodeName().orElseGet(new MachineFiles(PROC)::hostName);
    }

    /** Prepares the node, or the machines without connecting to them. The result supplies the hosts of each cycle. */
    Supplier<List<Host>> open() throws InterruptedException {
        return settings.isRemote() ? openFleet() : openNode();
    }

    /** Exits the service as genv's own flag of this name does. */
    @Override
    public void accept(CycleReport report) {
        if (settings.isRemote() && remote.exitOnError()) {
            report.fleet().snapshots().stream()
                    .filter(host -> !host.isReached())
                    .findFirst()
                    .ifPresent(host -> {
                        LOG.errorf("Exiting, because host %s could not be reached", host.host());
                        Quarkus.asyncExit(1);
                    });
        }
    }

    /** Closes the connections, and releases the lock of this enforcer. */
    @PreDestroy
    public void close() {
        try {
            opened.close();
        } catch (IOException e) {
            LOG.debug("The lock of this enforcer is released when the service exits", e);
        }
    }

    private Supplier<List<Host>> openNode() throws InterruptedException {
        var observer = observer(nodeName(settings), settings.stateDirectory(), Advice.CONTAINER);
        var paths = new NodeMachine.NodePaths(
                PROC,
                settings.stateDirectory(),
                settings.state().lockTimeout(),
                LOOKUP_TIMEOUT,
                observer.programs().stream().map(ProtectedExecutable::path).toList());
        var machine = new NodeMachine(paths, nvidiaSmi());
        opened = machine;
        if (observer.needs().acts()) {
            machine.openStateDirectory().ifPresent(LOG::warn);
            machine.claim().ifPresent(LOG::warn);
        }
        var missing = new Privileges(observer, machine.access()).missing();
        if (!missing.isEmpty()) {
            LOG.warnf(
                    "Missing privileges: %s",
                    missing.stream()
                            .map(privilege -> privilege.problem().detail())
                            .collect(Collectors.joining("; ")));
        }
        LOG.infof("Node %s, state in %s, mode %s", observer.host(), settings.stateDirectory(), mode());
        List<Host> hosts = List.of(new ObservedHost(observer, machine));
        return () -> hosts;
    }

    private NvidiaSmi nvidiaSmi() {
        var gpu = settings.gpu();
        return new NvidiaSmi(gpu.nvidiaSmi(), gpu.gpuTimeout());
    }

    private Supplier<List<Host>> openFleet() {
        var hosts = remote.hosts().orElse(List.of());
        var file = remote.hostfile().map(HostFile::new).orElse(null);
        var machines = new RemoteFleet(hosts, file, new SshAccess(settings.ssh())::connection, machines());
        opened = machines::close;
        LOG.infof(
                "Enforcing on %d host(s) over SSH, state in %s, mode %s",
                machines.get().size(), remote.stateDir(), mode());
        return machines;
    }

    private BiFunction<String, Connection, Host> machines() {
        var config = agentConfig();
        var machines = AgentMachine.ofOneService(config);
        return (name, connection) ->
                new ObservedHost(observer(name, remote.stateDir(), Advice.LOGIN), machines.apply(name, connection));
    }

    private AgentConfig agentConfig() {
        return new AgentConfig(
                remote.stateDir().toString(),
                limitToShare(settings.state().lockTimeout(), LOCK_PERCENT),
                settings.gpu().nvidiaSmi(),
                limitToShare(settings.gpu().gpuTimeout(), GPU_PERCENT),
                remote.timeout(),
                remote.sudo(),
                ProtectedExecutable.with(settings.safety().protectedExecutables()).stream()
                        .map(program -> program.path().toString())
                        .toList(),
                settings.general().mode() == ServiceMode.ENFORCE,
                lease());
    }

    /** Returns the time until the cycle after the next one must have begun; zero for a single cycle, so that another service can act at
     * once. */
    private Duration lease() {
        var interval = settings.general().interval();
        return interval.isZero()
                ? interval
                : interval.multipliedBy(3).plus(remote.timeout().multipliedBy(2));
    }

    private Duration limitToShare(Duration wanted, int percent) {
        var part = remote.timeout().multipliedBy(percent).dividedBy(100);
        return wanted.compareTo(part) <= 0 ? wanted : part;
    }

    private ObserverSettings observer(String host, Path stateDirectory, Advice advice) {
        return new ObserverSettings(
                host,
                stateDirectory.toString(),
                settings.safety().protectedExecutables(),
                settings.safety().exemptUsers(),
                List.of(),
                List.of(),
                settings.safety().exemptCgroups(),
                List.of(),
                new Needs(
                        settings.safety().requireHostPid(),
                        settings.general().mode() == ServiceMode.ENFORCE,
                        settings.general().terminateProcesses(),
                        advice),
                settings.safety().overwrittenEnviron() == OverwrittenEnviron.OUTSIDE,
                settings.gpu().unlistedMemory(),
                statusAge());
    }

    /** Metrics are read as often as cycles run. Otherwise the page alone shows what the driver measures, unless the policy needs it. */
    private Duration statusAge() {
        return settings.general().genvMetrics() == GenvMetrics.OFF ? USUAL_STATUS_AGE : Duration.ZERO;
    }

    private String mode() {
        return settings.general().mode().name().toLowerCase(Locale.ROOT);
    }
}
