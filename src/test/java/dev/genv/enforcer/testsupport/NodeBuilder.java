package dev.genv.enforcer.testsupport;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ObserverSettings.Needs;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A node as the service composes it: the machine's adapter and its observer. */
public final class NodeBuilder {
    private final Path state;
    private final NvidiaSmi gpus;
    private Path proc = Path.of("/proc");
    private Duration lockTimeout = HANG;
    private boolean requireHostPid;
    private boolean overwrittenIsOutside;
    private List<ProtectedExecutable> programs = List.of();
    private List<String> exempt = List.of();
    private List<ConfiguredGroup> groups = List.of();
    private List<String> exemptCgroups = List.of();

    /** The real {@code /proc}, with this state directory and nvidia-smi. */
    public NodeBuilder(Path state, Path nvidiaSmi) {
        this.state = state;
        gpus = new NvidiaSmi(nvidiaSmi.toString(), HANG);
    }

    public NodeBuilder proc(Path other) {
        proc = other;
        return this;
    }

    public NodeBuilder lockTimeout(Duration limit) {
        lockTimeout = limit;
        return this;
    }

    public NodeBuilder requireHostPid() {
        requireHostPid = true;
        return this;
    }

    public NodeBuilder overwrittenIsOutside(boolean setting) {
        overwrittenIsOutside = setting;
        return this;
    }

    public NodeBuilder programs(ProtectedExecutable... executables) {
        programs = List.of(executables);
        return this;
    }

    public NodeBuilder exempt(String... users) {
        exempt = List.of(users);
        return this;
    }

    public NodeBuilder groups(List<ConfiguredGroup> limited) {
        groups = limited;
        return this;
    }

    public NodeBuilder exemptCgroups(List<String> paths) {
        exemptCgroups = paths;
        return this;
    }

    public ObserverSettings settings() {
        return new ObserverSettings(
                "gpu-1",
                state.toString(),
                programs,
                exempt,
                List.of(),
                groups,
                exemptCgroups,
                List.of(),
                new Needs(requireHostPid, true, true, Advice.CONTAINER),
                overwrittenIsOutside,
                Memory.ofMebibytes(512),
                Duration.ZERO);
    }

    public NodeMachine machine() {
        var paths = new NodeMachine.NodePaths(
                proc,
                state,
                lockTimeout,
                HANG,
                settings().programs().stream().map(ProtectedExecutable::path).toList());
        return new NodeMachine(paths, gpus);
    }

    public ObservedHost host(NodeMachine machine) {
        return new ObservedHost(settings(), machine);
    }

    public ObservedHost host() {
        return host(machine());
    }
}
