package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several services that act on one machine from afar: one does, the others watch. */
@Timeout(600)
class AgentLeaseTest {
    private static final String READ_ONLY_REASON =
            "another service acts on this host over SSH, or this one did before its restart, and that lease has not expired";

    private final Machine machine;
    private final AgentHost first;
    private final AgentHost second;
    private final Child child = Child.inEnvironment("15971");

    AgentLeaseTest(@TempDir Path folder) throws IOException {
        machine = new Machine(folder);
        first = machine.agent();
        second = machine.service("two").agent();
    }

    @BeforeEach
    void writeState() throws IOException {
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        machine.files().device(0).device(1).write();
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void secondServiceIsReadOnly() throws Exception {
        assertThat(observe(first).details().readOnlyReason()).isNull();
        var observation = observe(second);
        assertThat(observation.details().readOnlyReason()).isEqualTo(READ_ONLY_REASON);
        assertThat(observation.problems())
                .contains(new Problem(ProblemCode.SECOND_ENFORCER, READ_ONLY_REASON + ": this one only observes"));
        assertThat(observe(first).details().readOnlyReason()).isNull();
        assertThat(terminate(second, observe(second))).isEqualTo(Result.failed(READ_ONLY_REASON));
        assertThat(observe(machine.auditOnly().agent()).details().readOnlyReason())
                .isNull();
    }

    /** Between the look and the call the lease may pass to another; nobody's users can move it away. */
    @Test
    void leaseIsCheckedAgainBeforeActing() throws Exception {
        var observation = observe(first);
        var lease = leaseFile();
        var ours = Files.readString(lease);
        Files.writeString(lease, ours.replaceFirst("^one", "another"));
        assertThat(terminate(first, observation).detail())
                .matches(
                        "another service acted on this host [0-9]+ s ago: observing only until its lease expires, in [0-9]+ s");
        assertThat(child.isAlive()).isTrue();
        Files.writeString(lease, ours);
        assertThat(terminate(first, observation)).isEqualTo(Result.of(Outcome.SIGNALLED));
    }

    private Path leaseFile() throws IOException {
        try (var files = Files.list(machine.run)) {
            return files.filter(file -> file.getFileName().toString().contains(":"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private Snapshot observe(AgentHost agent) throws Exception {
        return agent.observe(machine.python, Set.of());
    }

    private Result terminate(AgentHost agent, Snapshot observation) throws Exception {
        var results = new HashMap<Action, Result>();
        var action = new Action.Terminate("gpu-1", observation.processes().getFirst());
        agent.execute(machine.python, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }
}
