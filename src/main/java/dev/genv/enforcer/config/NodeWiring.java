package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.observation.Advice;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.Privileges;
import dev.genv.enforcer.observation.immunity.ProtectedExecutable;
import dev.genv.enforcer.telemetry.genv.GenvMetrics;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** Creates the objects for enforcement on the service's own node. */
final class NodeWiring {
    private static final Logger LOG = Logger.getLogger(NodeWiring.class);

    private final Settings settings;
    private final ObserverSettings observer;
    private final NodeMachine machine;

    NodeWiring(Settings settings, String name, Path proc) {
        this.settings = settings;
        observer = ObserverWiring.settings(settings, name, settings.stateDirectory(), Advice.CONTAINER);
        var paths = new NodeMachine.NodePaths(
                proc,
                settings.stateDirectory(),
                settings.state().lockTimeout(),
                observer.programs().stream().map(ProtectedExecutable::path).toList());
        machine = new NodeMachine(paths, nvidiaSmi());
    }

    private NvidiaSmi nvidiaSmi() {
        var gpu = settings.gpu();
        return settings.general().genvMetrics() == GenvMetrics.OFF
                ? new NvidiaSmi(gpu.nvidiaSmi(), gpu.gpuTimeout())
                : NvidiaSmi.withStatus(gpu.nvidiaSmi(), gpu.gpuTimeout());
    }

    NodeMachine machine() {
        return machine;
    }

    /** Returns the host, ready to act, and logs what it lacks. */
    Host host() throws InterruptedException {
        if (observer.acts()) {
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
        LOG.infof(
                "Node %s, state in %s, mode %s",
                observer.host(),
                settings.stateDirectory(),
                settings.general().mode().name().toLowerCase(Locale.ROOT));
        return new ObservedHost(observer, machine);
    }
}
