package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.agent.LocalPython;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A machine with a state directory, a fake {@code /proc} and a fake nvidia-smi, through the hands on the node or through those of the agent. */
class FakeMachine {
    enum Hands {
        NODE,
        AGENT
    }

    final Path state;
    final FakeProc proc;
    final FakeNvidiaSmi tool;
    /** By which the hands reach the state directory. */
    Path statePath;
    /** What the machine shows as {@code /proc}. */
    Path procRoot;
    /** The path or name of nvidia-smi. */
    String toolProgram;

    Duration toolLimit = HANG;
    Duration lockLimit = HANG;
    final List<ProtectedExecutable> programs = new ArrayList<>();
    final List<String> exempt = new ArrayList<>();
    final List<String> exemptCgroups = new ArrayList<>();
    final List<ConfiguredGroup> groups = new ArrayList<>();
    boolean requireHostPid;
    boolean overwrittenIsOutside;
    /** Where the agent finds passwd(5). */
    Path etc;
    /** Stands in front of the paths of programs for the agent, whose root is that of this machine. */
    String agentRoot = "";

    Hands hands;
    private final Path folder;

    FakeMachine(Hands hands, Path folder) throws IOException {
        this.hands = hands;
        this.folder = Files.createDirectories(folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        state = Files.createDirectory(folder.resolve("genv"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
        statePath = state;
        etc = Files.createDirectory(folder.resolve("etc"));
        Files.copy(Path.of("/etc/passwd"), etc.resolve("passwd"));
        proc = new FakeProc(Files.createDirectory(folder.resolve("proc")));
        procRoot = proc.root();
        proc.writeSelf("000001ffffffffff", "");
        proc.pidNamespace(4026531836L);
        proc.cgroupNamespace(4026531835L);
        proc.writeUptime(10_000_000);
        Files.writeString(procRoot.resolve("locks"), "");
        tool = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        toolProgram = tool.path().toString();
    }

    /** The agent reads the time since boot from {@code /proc}: where processes are real, it must be too. */
    void useRealTime() throws IOException {
        Files.delete(proc.root().resolve("uptime"));
        Files.createSymbolicLink(proc.root().resolve("uptime"), Path.of("/proc/uptime"));
    }

    /** Has the GPU tool list these processes, which need not exist. */
    void list(int... pids) throws IOException {
        var lines = IntStream.of(pids).mapToObj("GPU-0, %d, 1\n"::formatted).collect(Collectors.joining());
        tool.fault("case $1 in *compute*) printf '%%s' '%s'; exit 0 ;; esac".formatted(lines));
    }

    /** @param prefix of the command that starts the agent, such as setpriv(1) */
    Machine machine(String... prefix) {
        var all = settings().programs();
        if (hands == Hands.NODE) {
            var paths = all.stream().map(ProtectedExecutable::path).toList();
            return new NodeMachine(
                    new NodeMachine.NodePaths(procRoot, statePath, lockLimit, HANG, paths),
                    new NvidiaSmi(toolProgram, toolLimit));
        }
        var paths = all.stream()
                .map(program -> agentRoot + program.path().toString())
                .toList();
        var config = new AgentConfig(
                statePath.toString(),
                lockLimit,
                toolProgram,
                toolLimit,
                LocalPython.TIMEOUT,
                false,
                paths,
                true,
                Duration.ofMinutes(1));
        return LocalPython.machine(config, procRoot, etc, folder.resolve("run"), prefix);
    }

    ObserverSettings settings() {
        var builder = new NodeBuilder(state, tool.path())
                .programs(programs.toArray(ProtectedExecutable[]::new))
                .exempt(exempt.toArray(String[]::new))
                .groups(groups)
                .exemptCgroups(exemptCgroups)
                .overwrittenIsOutside(overwrittenIsOutside);
        return (requireHostPid ? builder.requireHostPid() : builder).settings();
    }

    ObservedHost host(String... prefix) {
        return new ObservedHost(settings(), machine(prefix));
    }

    HostFacts observe() throws Exception {
        return machine().observe(new ObservationRequest(Set.of()));
    }
}
