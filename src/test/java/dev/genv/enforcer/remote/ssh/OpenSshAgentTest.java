package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentMachine;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The agent on a real OpenSSH server with a real sudo: one for all observations, and what becomes of it. */
class OpenSshAgentTest extends ServerTest {
    private static final ObservationRequest NOTHING = new ObservationRequest(Set.of(), Set.of());

    private RealHosts hosts;
    private RealSshd host;
    private Machine machine;

    @BeforeEach
    void start() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        host = hosts.start("gpu-1");
        host.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/bin/python3");
        host.gpus().gpus(1);
        host.state().device(0).write();
        connection = connect();
        machine = machine(connection, HANG);
    }

    private Connection connect() {
        var settings = new SshSettings(RealSshd.ADMIN, hosts.identity(), null, null, null, hosts.knownHosts(), HANG);
        return connect(access(settings), host.target());
    }

    private static Machine machine(Connection connection, Duration timeout) {
        var config = new AgentConfig(
                RealSshd.STATE, HANG, "nvidia-smi", HANG, timeout, true, List.of(), true, Duration.ofMinutes(1));
        return AgentMachine.ofOneService(config).apply("gpu-1", connection);
    }

    @AfterEach
    void close() throws Exception {
        if (hosts != null) {
            hosts.close();
        }
    }

    @Test
    void oneAgentAnswersAllObservations() throws Exception {
        machine.observe(NOTHING);
        var agent = agent();
        for (var i = 0; i < 10; i++) {
            machine.observe(NOTHING);
        }
        assertThat(agent()).isEqualTo(agent);
        assertThat(processes("sudo")).hasSize(1);
    }

    @Test
    void nothingRemainsWhenTheServiceDisconnects() throws Exception {
        machine.observe(NOTHING);
        connection.close();
        await().until(() -> processes("python3").isEmpty() && processes("sudo").isEmpty());
    }

    /** Whatever of it is killed between two observations, the next one succeeds. */
    @Test
    void startsAnAgentAgainThatWasKilledBetweenObservations() throws Exception {
        for (var program : List.of("python3", "sudo", "sshd")) {
            for (var i = 0; i < 3; i++) {
                machine.observe(NOTHING);
                var killed = program.equals("sshd") ? host.connections() : processes(program);
                assertThat(killed).isNotEmpty();
                killed.forEach(ProcessHandle::destroyForcibly);
                await().until(() -> killed.stream().noneMatch(ProcessHandle::isAlive));
                machine.observe(NOTHING);
            }
        }
    }

    @Test
    void reportsAnAgentThatIsKilledDuringAnObservation() throws Exception {
        machine.observe(NOTHING);
        for (var program : List.of("python3", "sshd")) {
            var begun = directory.resolve("begun-" + program);
            host.gpus().fault("echo >%s; exec sleep 3600".formatted(begun));
            var observation = new FutureTask<>(() -> machine.observe(NOTHING));
            Thread.startVirtualThread(observation);
            await().until(() -> Files.exists(begun));
            (program.equals("sshd") ? host.connections() : processes(program)).forEach(ProcessHandle::destroyForcibly);
            assertThatThrownBy(observation::get)
                    .cause()
                    .isInstanceOfSatisfying(
                            UnreachableException.class,
                            e -> assertThat(e.code())
                                    .isIn(
                                            program.equals("sshd")
                                                    ? Set.of(ProblemCode.CONNECTION_LOST)
                                                    : Set.of(ProblemCode.AGENT_KILLED, ProblemCode.AGENT_FAILED)));
            host.gpus().noFault();
            advanceTime(Duration.ofMinutes(1));
            machine.observe(NOTHING);
        }
    }

    /** The agent that was stopped must not stay: its successor would be a second one. */
    @Test
    void replacesAnAgentThatDoesNotAnswer() throws Exception {
        var impatient = machine(connect(), Duration.ofSeconds(3));
        await().until(() -> isObserved(impatient) && agents().size() == 1); // one that was too slow may not have ended
        var stopped = agent();
        signal("STOP", stopped);
        assertThatThrownBy(() -> impatient.observe(NOTHING))
                .isInstanceOfSatisfying(
                        UnreachableException.class, e -> assertThat(e.code()).isEqualTo(ProblemCode.TIMEOUT));
        signal("CONT", stopped);
        for (var sudo : processes("sudo")) {
            signal("CONT", sudo); // it stops with its command
        }
        await().until(() -> !stopped.isAlive());
        await().until(() -> isObserved(impatient));
    }

    private boolean isObserved(Machine impatient) throws InterruptedException {
        advanceTime(Duration.ofMinutes(1));
        try {
            impatient.observe(NOTHING);
            return true;
        } catch (UnreachableException _) {
            return false; // this machine is busy
        }
    }

    private static void signal(String name, ProcessHandle process) throws Exception {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    private ProcessHandle agent() {
        return await("an earlier one that was too slow may still end")
                .until(this::agents, agents -> agents.size() == 1)
                .getFirst();
    }

    /** Their own children, which may not have exited yet, run the same program. */
    private List<ProcessHandle> agents() {
        return processes("python3").stream()
                .filter(process -> process.parent()
                        .filter(parent -> name(parent).equals("python3"))
                        .isEmpty())
                .toList();
    }

    private List<ProcessHandle> processes(String program) {
        return host.processes().stream()
                .filter(process -> name(process).equals(program))
                .toList();
    }

    private static String name(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "comm"))
                    .strip();
        } catch (IOException _) {
            return ""; // it has exited
        }
    }

    @Test
    void reportsKilledCommandAndItsSignal() throws Exception {
        var answer = connection.request(request("kill -KILL $$"));

        assertThat(answer.exitCode()).isNull();
        assertThat(answer.interruption())
                .hasMessage("it was terminated by signal KILL")
                .extracting(UnreachableException::code)
                .isEqualTo(ProblemCode.AGENT_KILLED);
    }
}
