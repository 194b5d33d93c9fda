package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Signals a real process only if it is still the one that was observed; what the kernel shows of it is fake. */
@Timeout(600)
class AgentIdentityTest extends AgentActionFixture {
    private static final Result CHANGED = Result.failed("its identity has changed since the rules were checked");
    private static final Result GONE = Result.of(Outcome.ALREADY_GONE);

    AgentIdentityTest(@TempDir Path folder) throws IOException {
        super(folder);
    }

    @Test
    void reusedPidIsNotSignalled() throws Exception {
        var agent = machine.agent();
        var seen = observe(agent);
        var former = new GpuProcess(
                new ProcessId(seen.pid(), seen.id().startTime() - 1),
                seen.uid(),
                seen.command(),
                seen.membership(),
                seen.usage());
        assertThat(execute(agent, terminate(former)))
                .isEqualTo(Result.failed("the last observation of this host did not find it"));
        var fake = fakeMachine();
        seen = observe(fake.agent());
        fake.process().startTime(seen.id().startTime() + 1);
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(GONE);
        fake.process().startTime(seen.id().startTime()).state('Z');
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(GONE);
        fake.process().threads(2);
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED); // none of its threads can be asked
        for (var file : List.of("stat", "status", "environ", "cmdline", "comm")) {
            Files.delete(fake.process().file(file));
        }
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(GONE);
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void changedProcessIsNotSignalled() throws Exception {
        var fake = fakeMachine();
        var seen = observe(fake.agent());
        fake.process().uid(1004);
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        fake.process().uid(1003).withoutEnvironment();
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        fake = fakeMachine();
        seen = observe(fake.agent());
        Files.delete(fake.process().file("environ"));
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        Fifo.at(fake.process().file("environ"));
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(Result.failed("its environ does not answer"));
        assertThat(child.isAlive()).isTrue();
        Files.delete(fake.process().file("environ"));
        fake.process().environ("GENV_ENVIRONMENT_ID=15971");
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    /** It may write over its environment; one that does so before each signal does it in order not to be ended. */
    @Test
    void processWhoseEnvironmentDiffersAtEveryCheckIsSignalledAtLast() throws Exception {
        var fake = fakeMachine();
        for (var name : List.of("b", "c")) {
            var seen = observe(fake.agent());
            fake.process().environ("GENV_ENVIRONMENT_ID=" + name);
            assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        }
        var seen = observe(fake.agent());
        fake.process().environ("GENV_ENVIRONMENT_ID=d");
        assertThat(child.isAlive()).isTrue();
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void processWhoseUidDiffersAtEveryCheckIsSignalledAtLast() throws Exception {
        var fake = fakeMachine();
        for (var uid : List.of(2001, 2002)) {
            var seen = observe(fake.agent());
            fake.process().uid(uid);
            assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        }
        var seen = observe(fake.agent());
        fake.process().uid(2003);
        assertThat(child.isAlive()).isTrue();
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    /** A program of root's protects root's processes; no user may shield his own with it by changing his uid. */
    @Test
    void programProtectedForRootDoesNotProtectAChangingUid() throws Exception {
        Requirements.root();
        var server = Files.copy(Path.of("/bin/sleep"), folder.resolve("server"));
        machine.protectPrograms(server.toString());
        var fake = fakeMachine();
        fake.process().exe(server);
        for (var uid : List.of(2001, 2002)) {
            var seen = observe(fake.agent());
            fake.process().uid(uid);
            assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        }
        var seen = observe(fake.agent());
        fake.process().uid(2003);
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void doesNotSignalAProcessWhoseNewUidIsExempt() throws Exception {
        machine.exemptUsers("2003");
        var fake = fakeMachine();
        for (var uid : List.of(2001, 2002)) {
            var seen = observe(fake.agent());
            fake.process().uid(uid);
            assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        }
        var seen = observe(fake.agent());
        fake.process().uid(2003);
        assertThat(execute(fake.agent(), terminate(seen)))
                .isEqualTo(new Result(Outcome.SKIPPED_EXEMPT, "it belongs to uid 2003, which is exempt"));
        assertThat(child.isAlive()).isTrue();
    }

    /** Where any uid will do, an exempt one still will not: the script itself compares it. */
    @Test
    void doesNotSignalAProcessThatBecomesExemptDuringARetry() throws Exception {
        machine.exemptUsers("2003");
        var fake = fakeMachine();
        for (var uid : List.of(2001, 2002)) {
            var seen = observe(fake.agent());
            fake.process().uid(uid);
            assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(CHANGED);
        }
        var seen = observe(fake.agent());
        fake.process().uid(2004);
        var results = new HashMap<Action, Result>();
        var action = terminate(seen);
        fake.agent()
                .execute(
                        request -> {
                            var answer = machine.python.request(request);
                            try {
                                fake.process().uid(2003);
                            } catch (IOException e) {
                                throw new UncheckedIOException(e);
                            }
                            return answer;
                        },
                        List.of(action),
                        results::put);
        assertThat(Objects.requireNonNull(results.get(action)).outcome()).isEqualTo(Outcome.SKIPPED_EXEMPT);
        assertThat(child.isAlive()).isTrue();
    }

    /** What names no environment may change as it likes. */
    @Test
    void changedEnvironWithTheSameMembershipIsSignalled() throws Exception {
        var fake = fakeMachine();
        fake.process().environ("X=1");
        var seen = observe(fake.agent());
        assertThat(seen.membership()).isEqualTo(new Membership.Outside());
        fake.process().environ("GENV_ENVIRONMENT_ID=a", "GENV_ENVIRONMENT_ID=");
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void processThatNowRunsAProtectedProgramIsNotSignalled() throws Exception {
        Requirements.root();
        var server = Files.copy(Path.of("/bin/sleep"), folder.resolve("server"));
        machine.protectPrograms(server + "@*");
        var fake = fakeMachine();
        fake.process().exe(Path.of("/bin/sleep"));
        var seen = observe(fake.agent());
        assertThat(seen.immunity()).isNull();
        Files.delete(fake.process().file("exe"));
        assertThat(execute(fake.agent(), terminate(seen)).outcome()).isEqualTo(Outcome.SKIPPED_PROTECTED);
        fake.process().exe(server);
        assertThat(execute(fake.agent(), terminate(seen)).outcome()).isEqualTo(Outcome.SKIPPED_PROTECTED);
        assertThat(child.isAlive()).isTrue();
        Files.delete(fake.process().file("exe"));
        fake.process().exe(folder.resolve("nowhere/server")); // it is not that one, whichever it is
        assertThat(execute(fake.agent(), terminate(seen))).isEqualTo(SIGNALLED);
        assertThat(child.awaitExit()).isEqualTo(143);
    }
}
