package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.RemoteSettings;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.ServiceMode;
import dev.genv.enforcer.remote.Agent;
import dev.genv.enforcer.remote.HostFile;
import dev.genv.enforcer.remote.RemoteFleet;
import dev.genv.enforcer.remote.Terms;
import dev.genv.enforcer.remote.genv.GenvAgent;
import dev.genv.enforcer.remote.shell.ShellAgent;
import dev.genv.enforcer.remote.ssh.SshAccess;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Puts together what enforces on other machines. */
final class FleetWiring {
    private static final Duration MARGIN = Duration.ofSeconds(1);
    // What a look waits for on the host must end before the command that looks is given up.
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

    /** Null where it is this machine that is enforced on. */
    static @Nullable FleetWiring of(Settings settings) {
        return settings.isRemote() ? new FleetWiring(settings) : null;
    }

    RemoteSettings remote() {
        return remote;
    }

    /** The machines; nothing is connected yet. */
    RemoteFleet fleet() {
        var hosts = List.copyOf(remote.hosts().orElse(List.of()));
        var file = remote.hostfile().map(HostFile::new).orElse(null);
        return new RemoteFleet(hosts, file, new SshAccess(settings.ssh())::connection, agents(terms()));
    }

    /**
     * How long a look, or acting, takes at most: to connect, and to look; or to act twice, for the state may change between
     * look and act.
     */
    Duration mostTime() {
        return timeout.multipliedBy(2).plus(MARGIN);
    }

    private Function<String, Agent> agents(Terms terms) {
        return switch (remote.agent()) {
            case SHELL -> ShellAgent.ofOneService(terms);
            case GENV -> name -> new GenvAgent(name, terms);
        };
    }

    private Terms terms() {
        return new Terms(
                remote.stateDir().toString(),
                most(settings.state().lockTimeout(), LOCK_PERCENT),
                settings.gpuProgram(),
                most(settings.gpu().gpuTimeout(), GPU_PERCENT),
                timeout,
                remote.sudo(),
                settings.safety().requireHostPid(),
                List.copyOf(settings.safety().protectedExecutables()),
                List.copyOf(settings.safety().exemptUsers()),
                settings.general().mode() == ServiceMode.ENFORCE,
                settings.general().terminateProcesses(),
                lease());
    }

    /** Until the cycle after the next must have begun. A single cycle leaves the hosts to whoever comes next. */
    private Duration lease() {
        var interval = settings.general().interval();
        return interval.isZero() ? interval : interval.multipliedBy(3).plus(timeout.multipliedBy(2));
    }

    private Duration most(Duration wanted, int percent) {
        var part = timeout.multipliedBy(percent).dividedBy(100);
        return wanted.compareTo(part) <= 0 ? wanted : part;
    }
}
