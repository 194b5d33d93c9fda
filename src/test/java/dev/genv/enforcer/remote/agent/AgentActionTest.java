package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Terminates real processes with the real agent; what the kernel shows of them may be fake. */
@Timeout(600)
class AgentActionTest extends AgentActionFixture {

    AgentActionTest(@TempDir Path folder) throws IOException {
        super(folder);
    }

    @Test
    void sendsSigtermToTheProcess() throws Exception {
        var agent = machine.agent();
        assertThat(execute(agent, terminate(observe(agent)))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
        assertThat(machine.python.requests()).hasSize(2);
    }

    @Test
    void sendsSigkillIfPlanned() throws Exception {
        var agent = machine.agent();
        assertThat(execute(agent, new Action.Terminate("gpu-1", observe(agent), Signal.KILL)))
                .isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(137);
    }

    @Test
    void terminatesProcessesOfAnyOrNoEnvironment() throws Exception {
        try (var outside = Child.withEnvironment(Map.of());
                var empty = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", ""));
                var odd = Child.inEnvironment("\n' \" \\ $(id)`@0 end ä")) {
            var agent = machine.agent();
            for (var each : List.of(outside, empty, odd)) {
                machine.nvidiaSmi.noProcesses().process(0, each.pid(), "1");
                assertThat(execute(agent, terminate(observe(agent)))).isEqualTo(SIGNALLED);
                assertThat(each.awaitExit()).isEqualTo(143);
            }
        }
    }

    @Test
    void expiredActionIsNotExecuted() throws Exception {
        var fake = fakeMachine();
        var seen = observe(fake.agent());
        Machine.writeUptime(folder.resolve("proc"), 3600 + (int) Machine.TIMEOUT.toSeconds() + 1);
        assertThat(execute(fake.agent(), terminate(seen)))
                .isEqualTo(Result.failed("abandoned: the execution took too long"));
        machine.nanos.addAndGet(Duration.ofSeconds(1).toNanos()); // the time that the request took
        Files.writeString(folder.resolve("proc/sys/kernel/random/boot_id"), Machine.BOOT.replace('c', 'd'));
        assertThat(execute(fake.agent(), terminate(seen)))
                .isEqualTo(Result.failed("abandoned: the execution took too long"));
        assertThat(child.isAlive()).isTrue();
        Files.writeString(folder.resolve("proc/sys/kernel/random/boot_id"), Machine.BOOT);
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void immuneProcessIsNotSentToTheMachine() throws Exception {
        var agent = machine.agent();
        var seen = observe(agent);
        for (var kind : Immunity.Kind.values()) {
            var immunityCheck = new GpuProcess(
                    seen.id(), seen.uid(), "", seen.membership(), seen.usage(), new Immunity(kind, "so it is"));
            assertThat(execute(agent, terminate(immunityCheck)))
                    .isEqualTo(new Result(Outcome.valueOf("SKIPPED_" + kind), "so it is"));
        }
        for (var pid : List.of(1, 0, -1)) {
            var none = new GpuProcess(new ProcessId(pid, 7), seen.uid(), "", seen.membership(), seen.usage());
            assertThat(execute(agent, terminate(none)).outcome()).isEqualTo(Outcome.SKIPPED_PROTECTED);
        }
        assertThat(machine.python.requests()).hasSize(1);
    }

    @Test
    void missingPrivilegeYieldsDenied() throws Exception {
        Requirements.root();
        var fake = fakeMachine();
        fake.process().uid(1003);
        var seen = observe(fake.agent());
        var ordinary = new LocalPython("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups");
        var results = new HashMap<Action, Result>();
        var action = terminate(seen);
        fake.agent().execute(ordinary, List.of(action), results::put);
        assertThat(results.get(action)).isEqualTo(new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void executesNothingWithoutAnObservation() throws Exception {
        var agent = machine.agent();
        var seen = observe(agent);
        assertThatThrownBy(() -> agent.observe(_ -> new CommandResult("", "", 1, null), Set.of()))
                .isInstanceOf(UnreachableException.class);
        assertThat(execute(agent, terminate(seen)).outcome()).isEqualTo(Outcome.FAILED);
        assertThat(execute(machine.agent(), terminate(seen)).outcome()).isEqualTo(Outcome.FAILED);
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void readOnlyServiceExecutesNothing() throws Exception {
        var agent = machine.agent();
        var seen = observe(agent);
        var second = machine.service("two").agent();
        assertThat(second.observe(machine.python, Set.of()).details().readOnlyReason())
                .isNotNull();
        assertThat(execute(second, terminate(seen)))
                .satisfies(result -> assertThat(result.outcome()).isEqualTo(Outcome.FAILED))
                .satisfies(
                        result -> assertThat(result.detail()).startsWith("another service acts on this host over SSH"));
        assertThat(machine.python.requests()).hasSize(2);
    }

    @Test
    void unreachableMachineMeansNotExecuted() throws Exception {
        var agent = machine.agent();
        var action = terminate(observe(agent));
        var results = new HashMap<Action, Result>();
        var lost = new UnreachableException(ProblemCode.CONNECTION_LOST, "it was lost");
        assertThatThrownBy(() -> agent.execute(
                        _ -> {
                            throw lost;
                        },
                        List.of(action),
                        results::put))
                .isSameAs(lost);
        assertThatThrownBy(() -> agent.execute(
                        _ -> new CommandResult("", "sudo: a password is required", 1, null),
                        List.of(action),
                        results::put))
                .isInstanceOf(UnreachableException.class);
        assertThat(results).isEmpty();
    }

    /** As long as the agent may run, nothing is known of any action without the whole answer. */
    @Test
    void actionWithoutResultMayHaveBeenExecuted() throws Exception {
        var agent = machine.agent();
        var action = terminate(observe(agent));
        var interruption = new CommandResult.Interruption(ProblemCode.CONNECTION_LOST, "the connection was lost");
        var results = new HashMap<Action, Result>();
        agent.execute(
                request -> {
                    var output = machine.python.request(request).output();
                    return new CommandResult(output.substring(0, output.length() - 2), "", null, interruption);
                },
                List.of(action),
                results::put);
        assertThat(results).containsExactly(Map.entry(action, Result.lost("the connection was lost")));
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    /** A second SIGTERM would be taken for an abort: nobody is asked twice for want of an answer. */
    @Test
    void actionMissingFromTheAnswerMayHaveBeenExecuted() throws Exception {
        var agent = machine.agent();
        var action = terminate(observe(agent));
        var pending = new ArrayList<ProgramRequest>();
        var results = new HashMap<Action, Result>();
        agent.execute(
                request -> {
                    pending.add(request);
                    var empty = new Answer.Acted(null, Answer.Handles.PIDFD, List.of(), LockFacts.NOT_ATTEMPTED, null);
                    return new CommandResult(Machine.answer(request, empty), "", 0, null);
                },
                List.of(action),
                results::put);
        assertThat(results.get(action)).isEqualTo(Result.lost("the host reported no result"));
        assertThat(pending).hasSize(1);
    }

    @Test
    void interruptReportsActionsThatMayHaveBeenExecuted() throws Exception {
        var agent = machine.agent();
        var action = terminate(observe(agent));
        var results = new HashMap<Action, Result>();
        assertThatThrownBy(() -> agent.execute(
                        _ -> {
                            throw new InterruptedException();
                        },
                        List.of(action),
                        results::put))
                .isInstanceOf(InterruptedException.class);
        assertThat(results.get(action)).isEqualTo(Result.lost("abandoned: the execution took too long"));
    }
}
