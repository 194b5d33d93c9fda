package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.RemoteSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.machine.Machine;
import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.observation.Advice;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.immunity.ProtectedExecutable;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.HostFile;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.remote.agent.AgentMachine;
import dev.genv.enforcer.remote.genv.GenvMachine;
import dev.genv.enforcer.remote.ssh.SshAccess;
import dev.genv.enforcer.telemetry.genv.GenvCollector.GenvMetrics;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** Creates the objects for enforcement on other machines. */
final class FleetWiring {
    private static final Duration MARGIN = Duration.ofSeconds(1);
    // The waits of an observation on the machine must end before the time limit of its command.
    private static final int LOCK_PERCENT = 15;
    private static final int GPU_PERCENT = 30;

    private final Settings settings;
    private final RemoteSettings remote;
    private final Duration timeout;

    private FleetWiring(Settings settings) {
        this.settings = settings;
        remote = settings.remote();
        timeout = remote.timeout();
    }

    /** Returns null if the service enforces on its own node. */
    static @Nullable FleetWiring of(Settings settings) {
        return settings.isRemote() ? new FleetWiring(settings) : null;
    }

    RemoteSettings remote() {
        return remote;
    }

    /** Creates the fleet without connecting. */
    RemoteFleet fleet() {
        var hosts = List.copyOf(remote.hosts().orElse(List.of()));
        var file = remote.hostfile().map(HostFile::new).orElse(null);
        return new RemoteFleet(hosts, file, new SshAccess(settings.ssh())::connection, hosts(agentConfig()));
    }

    /**
     * Returns the time limit of an observation or execution: to connect and to observe, or to execute twice, because the state may
     * change in between.
     */
    Duration callTimeout() {
        return timeout.multipliedBy(2).plus(MARGIN);
    }

    private BiFunction<String, Connection, Host> hosts(AgentConfig config) {
        BiFunction<String, Connection, Machine> machines = switch (remote.agent()) {
            case PYTHON -> AgentMachine.ofOneService(config)::apply;
            case GENV -> (_, connection) -> new GenvMachine(connection, config);
        };
        return (name, connection) -> new ObservedHost(observer(name), machines.apply(name, connection));
    }

    private ObserverSettings observer(String name) {
        return ObserverWiring.settings(settings, name, remote.stateDir(), Advice.LOGIN);
    }

    private AgentConfig agentConfig() {
        return new AgentConfig(
                remote.stateDir().toString(),
                limitToShare(settings.state().lockTimeout(), LOCK_PERCENT),
                settings.gpu().nvidiaSmi(),
                limitToShare(settings.gpu().gpuTimeout(), GPU_PERCENT),
                settings.general().genvMetrics() != GenvMetrics.OFF,
                timeout,
                remote.sudo(),
                ProtectedExecutable.with(List.copyOf(settings.safety().protectedExecutables())).stream()
                        .map(program -> program.path().toString())
                        .toList(),
                settings.general().mode() == ServiceMode.ENFORCE,
                lease());
    }

    /** Returns the time until the cycle after the next one must have begun; zero for a single cycle, so that another service can act at
     * once. */
    private Duration lease() {
        var interval = settings.general().interval();
        return interval.isZero() ? interval : interval.multipliedBy(3).plus(timeout.multipliedBy(2));
    }

    private Duration limitToShare(Duration wanted, int percent) {
        var part = timeout.multipliedBy(percent).dividedBy(100);
        return wanted.compareTo(part) <= 0 ? wanted : part;
    }
}
