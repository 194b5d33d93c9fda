package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/** A machine to look at: its state and its GPUs are in a folder, its processes are real ones. */
class Machine {
    static final String BOOT = "c0d43b84-5d58-44cb-8d64-fe40f0a9661f";
    /** For a whole message; what tests wait for comes sooner on any machine. */
    static final Duration TIMEOUT = Duration.ofMinutes(2);

    private static final String EVERYTHING = "000001ffffffffff";
    private static final long FIRST_PID_NAMESPACE = 4026531836L;

    final Path state;
    final Path etc;
    final Path run;
    final FakeNvidiaSmi nvidiaSmi;
    final LocalPython python;
    final AtomicLong nanos = new AtomicLong();
    String service = "one";
    boolean canAct = true;
    boolean sudo;
    boolean requireHostPid;
    List<ProtectedExecutable> programs = List.of();
    private String proc = "/proc";

    Machine(Path folder) throws IOException {
        state = Files.createDirectory(folder.resolve("genv"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
        etc = Files.createDirectory(folder.resolve("etc"));
        Files.writeString(etc.resolve("machine-id"), "0123456789abcdef0123456789abcdef\n");
        // The user who runs the tests may have no account on this machine.
        var passwd = Files.readString(Path.of("/etc/passwd"));
        var me = CurrentProcess.name() + ":x:" + CurrentProcess.uid() + ":";
        Files.writeString(etc.resolve("passwd"), passwd.contains(me) ? passwd : me + "0::/:/bin/sh\n" + passwd);
        run = folder.resolve("run");
        nvidiaSmi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        python = new LocalPython();
    }

    /** A fake {@code /proc}, of root on a machine that has been up for an hour. */
    FakeProc useFakeProc(Path root) throws IOException {
        proc = root.toString();
        var fake = new FakeProc(Files.createDirectories(root));
        fake.writeSelf(EVERYTHING, "");
        fake.pidNamespace(FIRST_PID_NAMESPACE);
        fake.writeUptime(3600);
        var random = Files.createDirectories(root.resolve("sys/kernel/random"));
        Files.writeString(random.resolve("boot_id"), BOOT + "\n");
        Files.writeString(root.resolve("locks"), "");
        return fake;
    }

    /** Has the GPU tool list processes that are not there for the kernel. */
    void setGpuProcesses(int... pids) throws IOException {
        var lines = Arrays.stream(pids)
                .mapToObj(pid -> "%s, %d, 1\n".formatted(FakeNvidiaSmi.uuid(0), pid))
                .collect(Collectors.joining());
        nvidiaSmi.fault("case $1 in *compute*) printf '%%s' '%s'; exit 0 ;; esac".formatted(lines));
    }

    /** A process in an environment that is attached to the first of two devices, and genv's lock. */
    void writeOneEnvironment(Child child) throws IOException {
        files().ownEnv("15971", null, child.pid()).device(0, "15971").device(1).write();
        Files.createFile(state.resolve("genv.lock"));
    }

    StateFiles files() {
        return new StateFiles(state);
    }

    /** The answers of an agent. */
    interface Answering {
        CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException;
    }

    AgentHost agent() {
        return new AgentHost(this);
    }

    ObservedHost host(Connection connection) {
        var settings = new ObserverSettings(
                "gpu-1",
                state.toString(),
                programs,
                List.of(),
                requireHostPid,
                canAct,
                true,
                false,
                Advice.LOGIN,
                Memory.ofMebibytes(512),
                Duration.ZERO);
        var config = new AgentConfig(
                state.toString(),
                Duration.ofSeconds(30),
                nvidiaSmi.path().toString(),
                Duration.ofSeconds(30),
                TIMEOUT,
                sudo,
                settings.programs().stream()
                        .map(program -> program.path().toString())
                        .toList(),
                canAct,
                Duration.ofHours(1));
        var places = new AgentCommand.Places(proc, etc.toString(), run.toString());
        var command = new AgentCommand(config, places, service, new SecureRandom());
        return new ObservedHost(settings, new AgentMachine("gpu-1", connection, config, command, nanos::get));
    }

    static JsonNode request(ProgramRequest request) {
        var line = request.line();
        try {
            return new ObjectMapper().readTree(line.substring(0, line.lastIndexOf(' ')));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the output of an agent that gives this answer. */
    static String answer(ProgramRequest request, Answer answer) {
        var json = AgentJson.write(answer);
        return "@%s %s %s\n"
                .formatted(
                        request(request).path("nonce").textValue(),
                        new String(json, StandardCharsets.UTF_8),
                        AgentOutput.checksum(json));
    }

    Snapshot observe(ProcessId... pending) throws UnreachableException, InterruptedException {
        return agent().observe(pending);
    }

    /** The host with its agent, whose requests each call can have answered otherwise. */
    static final class AgentHost implements Connection {
        private final ObservedHost host;
        private Answering answering;
        /** How often the program was to be ended. */
        int stops;

        AgentHost(Machine machine) {
            answering = machine.python::request;
            host = machine.host(this);
        }

        @Override
        public CommandResult request(ProgramRequest request) throws UnreachableException, InterruptedException {
            return answering.request(request);
        }

        @Override
        public void stop() {
            stops++;
        }

        @Override
        public void close() {}

        Snapshot observe(ProcessId... verified) throws UnreachableException, InterruptedException {
            return host.observe(Set.of(verified));
        }

        Snapshot observe(Answering other) throws UnreachableException, InterruptedException {
            answering = other;
            return observe();
        }

        void execute(Answering other, List<Action> actions, BiConsumer<Action, Result> done)
                throws UnreachableException, InterruptedException {
            answering = other;
            host.execute(actions, done);
        }
    }
}
