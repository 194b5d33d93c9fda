package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What only the agent does when it acts, and with the state; {@code ActionTableTest} has what both hands do. */
class PythonActionTest extends PythonFixture {
    private static final String NEW = "{\n  \"devices\": []\n}";
    private Child child;
    private String old;

    @BeforeEach
    void writeState() throws IOException {
        child = Child.inEnvironment("15971");
        machine.writeOneEnvironment(child);
        old = Files.readString(file("devices.json"));
    }

    private Path file(String name) {
        return machine.state.resolve(name);
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    /** So it is on systems without pidfd_open(2). */
    @Test
    void signalsAfterAComparisonWithoutHandles() throws Exception {
        machine.orderSignal(child.pid(), 1);
        var another = changed(machine.input("signal"), "PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        assertThat(machine.signal(another)).isEqualTo("GONE");
        assertThat(child.isAlive()).isTrue();
        var input = changed(machine.signalInput(child.pid()), "PIDFD_OPEN = 424, 434", "PIDFD_OPEN = 9999, 9999");
        var answer = machine.run(input).answer();
        assertThat(answer.at("/signals/0/result/kind").asText()).isEqualTo("SENT");
        assertThat(answer.get("hasPidfd").asBoolean()).isFalse();
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void announcesEachActionBeforeIt() throws Exception {
        assertThat(machine.run(machine.signalInput(child.pid())).parsed().begun())
                .containsExactly(child.pid());
        assertThat(machine.run(machine.swapInput(old, NEW)).parsed().begun()).containsExactly(0);
        var another = machine.swapInput(old, NEW); // it is another file now
        assertThat(machine.run(another).parsed().begun()).isEmpty();
    }

    /** The service no longer listens, and it cannot learn what was done. */
    @Test
    void doesNothingIfItCannotAnnounceIt() throws Exception {
        machine.command = List.of("sh", "-c", "exec %s -I -S - >/dev/full".formatted(PythonMachine.PYTHON));
        var input = changed(machine.signalInput(child.pid()), "    write(1, b\"\\n@", "    (b\"\\n@");
        var output = machine.run(input);
        assertThat(output.errors()).contains("No space left on device");
        assertThat(output.exitCode()).isNotZero();
        assertThat(child.isAlive()).isTrue();
    }

    @Test
    void expiredActionIsNotExecuted() throws Exception {
        machine.useFakeProc().process(child.pid()).uid(1003).environ("X=1");
        Files.writeString(folder.resolve("proc/devices"), "Character devices:\n");
        machine.request.put("deadline", 359_999);
        assertThat(machine.signal(child.pid())).isEqualTo("NOT_SENT");
        assertThat(machine.swapDevices(old, NEW).at("/swap/notWritten/reason").asText())
                .isEqualTo("abandoned: the execution took too long");
        machine.request.put("deadline", 360_000).put("boot", "another");
        assertThat(machine.signal(child.pid())).isEqualTo("NOT_SENT");
        assertThat(child.isAlive()).isTrue();
        machine.request.put("boot", PythonMachine.BOOT);
        assertThat(machine.signal(child.pid())).isEqualTo("SENT");
        assertThat(child.awaitExit()).isEqualTo(143);
    }

    @Test
    void missingPrivilegeYieldsDenied() throws Exception {
        Requirements.root();
        machine.useFakeProc().process(child.pid()).uid(1003).environ("X=1");
        Files.writeString(folder.resolve("proc/devices"), "Character devices:\n");
        machine.command =
                List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-");
        assertThat(machine.signal(child.pid())).isEqualTo("DENIED");
        assertThat(child.isAlive()).isTrue();
    }

    /** What others write without the lock must not be lost. */
    @Test
    void changeDirectlyBeforeTheReplacementPreventsIt() throws Exception {
        for (var change : List.of(
                "os.utime(machine.request['state'] + '/devices.json')",
                "os.rename(machine.request['state'] + '/genv.lock', machine.request['state'] + '/moved')",
                "machine.request.update(deadline=0)")) {
            var place = "        # As late as possible";
            var input = changed(machine.swapInput(old, NEW), place, "        " + change + "\n" + place);
            assertThat(machine.run(input).answer().at("/swap").has("disturbed"))
                    .as(change)
                    .isTrue();
            assertThat(file("devices.json")).hasContent(old);
        }
        assertThat(machine.state).isDirectoryNotContaining("glob:**enforcer-*");
    }

    @Test
    void holdsTheLockDuringTheReplacement() throws Exception {
        // It exits with 0 only if the lock is held.
        var attempt =
                "subprocess.check_call(['flock', '-n', '-E', '0', machine.request['state'] + '/genv.lock', 'false'])";
        var input = changed(machine.swapInput(old, NEW), "    os.rename(", "    " + attempt + "; os.rename(");
        assertThat(machine.run(input).answer().at("/swap").has("done")).isTrue();
        assertThat(file("devices.json")).hasContent(NEW);
    }

    private static final String LEASED =
            "another service acted on this host \\d+ s ago: observing only until its lease expires, in \\d+ s";

    // Several services act on one machine over SSH: only one of them does at a time.

    @Test
    void secondServiceIsTold() throws Exception {
        assertThat(observe("one").isNull()).isTrue();
        var leased = observe("two").get("leased");
        assertThat(leased.get("secondsAgo").asLong()).isBetween(0L, 3599L);
        assertThat(leased.get("secondsLeft").asLong()).isBetween(1L, 3600L);
        assertThat(observe("one").isNull()).isTrue();
        machine.request.put("acts", false);
        assertThat(observe("two").isNull()).isTrue();
    }

    /** The owner of the state directory can rename it and back. */
    @Test
    void exchangedStateDirectoryHasTheSameLease() throws Exception {
        assertThat(observe("one").isNull()).isTrue();
        Files.move(machine.state, machine.state.resolveSibling("hidden"));
        Files.createDirectory(machine.state);
        assertThat(observe("two").has("leased")).isTrue();
        Files.delete(machine.state);
        assertThat(observe("two").has("leased")).isTrue();
        assertThat(observe("one").isNull()).isTrue();
    }

    /** Between observing and acting, another service may have taken the lease. */
    @Test
    void leaseIsCheckedAgainBeforeActing() throws Exception {
        observe("one");
        var ours = Files.readString(leases());
        Files.writeString(leases(), changed(ours, "\"one\"", "\"another\""));
        var answer = machine.run(machine.signalInput(child.pid())).answer();
        var result = answer.at("/signals/0/result");
        assertThat(result.get("kind").asText()).isEqualTo("NOT_SENT");
        assertThat(result.get("reason").asText()).matches(LEASED);
        assertThat(machine.swapDevices("", NEW).at("/swap/notWritten/reason").asText())
                .matches(LEASED);
        assertThat(child.isAlive()).isTrue();
        Files.writeString(leases(), ours);
        assertThat(machine.signal(child.pid())).isEqualTo("SENT");
    }

    @Test
    void leaseEndsWithItsTimeOrAReboot() throws Exception {
        observe("one");
        var ours = Files.readString(leases());
        for (var old : List.of(
                changed(ours, machine.request.get("boot").asText(), "another boot"),
                ours.replaceFirst("\"end\":\\d+", "\"end\":5"),
                ours.substring(0, ours.length() - 1),
                "",
                "\0ä")) {
            Files.writeString(leases(), old);
            assertThat(observe("two").isNull()).as(old).isTrue();
            assertThat(observe("one").has("leased")).as(old).isTrue();
            assertThat(Files.readString(leases()))
                    .as("the expired one is removed")
                    .containsOnlyOnce("holder");
        }
    }

    @Test
    void singleCycleTakesNoLeaseButRespectsOthers() throws Exception {
        machine.request.withObject("/lease").put("seconds", 0);
        assertThat(observe("single").isNull()).isTrue();
        machine.request.withObject("/lease").put("seconds", 3600.5);
        assertThat(observe("one").isNull()).isTrue();
        machine.request.withObject("/lease").put("seconds", 0);
        assertThat(observe("single").has("leased")).isTrue();
    }

    @Test
    void doesNotUseDirectoryThatOthersCanWrite() throws Exception {
        Files.createDirectory(machine.run);
        setMode(machine.run, "rwxrwxrwx");
        assertNoLease();
        Files.delete(machine.run);
        var target = Files.createDirectory(folder.resolve("target"));
        Files.createSymbolicLink(machine.run, target);
        setMode(target, "rwx------");
        assertNoLease();
        assertThat(target).isEmptyDirectory();
        Files.delete(machine.run);
        Files.createFile(machine.run);
        assertNoLease();
    }

    private void assertNoLease() throws Exception {
        for (var holder : List.of("one", "two")) {
            assertThat(observe(holder).isNull()).isTrue();
        }
    }

    @Test
    void anotherServiceMayHoldTheLeaseWhileItsLockIsHeld() throws Exception {
        observe("one");
        try (var _ = RealFlock.take(leases())) {
            assertThat(observe("one").at("/leased/secondsLeft").asLong()).isZero();
        }
        assertThat(observe("one").isNull()).isTrue();
    }

    private Path leases() {
        return machine.run.resolve("leases");
    }

    private JsonNode observe(String holder) throws Exception {
        machine.request.withObject("/lease").put("holder", holder);
        return machine.facts().at("/enforcers/other");
    }

    // A state directory in which users do what they like; StateRows and StateTableTest have what both hands read.

    private JsonNode assertComplete() throws Exception {
        var state = machine.facts().get("state");
        assertThat(bytes(state.at("/envs/present/content"))).isEqualTo(Files.readString(file("envs.json"), ISO_8859_1));
        assertThat(bytes(state.at("/devices/present/content"))).isEqualTo(Files.readString(file("devices.json")));
        return state;
    }

    @Test
    void observationCreatesNoLockAndInAuditModeTakesNone() throws Exception {
        machine.request.put("acts", false);
        try (var _ = RealFlock.take(file("genv.lock"))) {
            assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        }
        assertThat(machine.run).doesNotExist();
        Files.delete(file("genv.lock"));
        machine.request.put("acts", true);
        assertThat(assertComplete().at("/lock/outcome").asText()).isEqualTo("HELD");
        assertThat(file("genv.lock")).as("it is not created").doesNotExist();
    }

    /** With a slash at its end, the kernel would follow it. */
    @Test
    void linkInPlaceOfTheDirectoryIsNotFollowed() throws Exception {
        var elsewhere = Files.move(machine.state, folder.resolve("elsewhere"));
        Files.createSymbolicLink(machine.state, elsewhere);
        machine.request.put("state", machine.state + "/");
        assertUnreadableDirectory("OTHER", "is a symbolic link");
    }

    @Test
    void waitsUntilTheLockIsReleased() throws Exception {
        machine.request.put("lockTimeout", 600);
        var waits = folder.resolve("waits");
        var pause = "            time.sleep(PAUSE)\n";
        var held = RealFlock.take(file("genv.lock"));
        var release = Thread.ofPlatform().start(() -> {
            await().until(() -> Files.exists(waits));
            try {
                held.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        var input = changed(machine.input("observe"), pause, "            open('%s', 'w')\n".formatted(waits) + pause);
        assertThat(machine.facts(input).at("/state/lock/outcome").asText()).isEqualTo("HELD");
        release.join();
    }

    private JsonNode assertUnreadableDirectory(String failure, String reason) throws Exception {
        var facts = machine.facts();
        assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo(failure);
        assertThat(facts.at("/state/directory/unreadable/reason").asText()).isEqualTo(reason);
        assertThat(facts.at("/state/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        assertThat(facts.at("/state/envs").has("absent")).isTrue();
        return facts;
    }

    @Test
    void ordinaryUserMayNotReadWhatIsClosed() throws Exception {
        Requirements.root();
        machine.command = List.of(
                "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", PythonMachine.PYTHON, "-I", "-");
        machine.nvidiaSmi.process(0, child.pid(), "1");
        setMode(machine.state, "rwx------");
        var facts = assertUnreadableDirectory("DENIED", "cannot be entered");
        assertThat(facts.at("/access/capabilities").asLong()).isZero();
        assertThat(facts.at("/processes/0/environ/failure").asText()).isEqualTo("DENIED");
        assertThat(facts.at("/processes/0/executable/failure").asText()).isEqualTo("DENIED");
        setMode(machine.state, "rwxr-xr-x");
        assertThat(machine.facts().at("/access/stateIsWritable").asBoolean()).isFalse();
    }

    /** Any user can create a file of this name, or move that of another directory here. */
    @Test
    void reportsTheEnforcerOfTheMachineIfItsLockIsValid() throws Exception {
        var mark = enforcerLock("genv-enforcer of directory %s\n");
        assertThat(hasEnforcer()).isFalse();
        try (var _ = RealFlock.take(mark)) {
            enforcerLock("genv-enforcer of directory 1%s\n");
            assertThat(hasEnforcer()).isFalse();
            enforcerLock("genv-enforcer of directory %s\n");
            assertThat(machine.facts().at("/enforcers/other/onMachine/pid").asLong())
                    .isEqualTo(ProcessHandle.current().pid());
            machine.request.put("acts", false);
            assertThat(hasEnforcer()).isFalse();
            machine.request.put("acts", true);
            setMode(mark, "rw-rw----");
            assertThat(hasEnforcer()).isFalse();
            setMode(mark, "rw-------");
            Files.createLink(folder.resolve("other"), mark);
            assertThat(hasEnforcer()).isFalse();
            Files.delete(folder.resolve("other"));
            if (CurrentProcess.isRoot()) {
                Files.setAttribute(mark, "unix:uid", 65534);
                assertThat(hasEnforcer()).isFalse();
                Files.setAttribute(mark, "unix:uid", 0);
            }
            assertThat(hasEnforcer()).isTrue();
        }
    }

    private boolean hasEnforcer() throws Exception {
        return machine.facts().at("/enforcers/other").has("onMachine");
    }

    private Path enforcerLock(String content) throws IOException {
        var mark = file(".genv-enforcer.lock");
        Files.writeString(mark, content.formatted(Files.getAttribute(machine.state, "unix:ino")));
        setMode(mark, "rw-------");
        return mark;
    }

    /** As if the file system did not answer: a child process of the agent sleeps. Nobody waits for the end of the output. */
    private PythonMachine.Output hang(String function, String input) throws Exception {
        machine.command = List.of("sh", "-c", "%s -I -S - | cat".formatted(PythonMachine.PYTHON));
        var pid = folder.resolve("hung");
        var output = machine.run(changedAtTheStartOf(
                function, input, "open('%s', 'w').write(str(os.getpid())), time.sleep(3600)".formatted(pid)));
        var child = Long.parseLong(Files.readString(pid));
        await("what can be killed is killed")
                .until(() -> ProcessHandle.of(child).isEmpty());
        return output;
    }

    @Test
    void hangingDirectoryHidesNoOtherFacts() throws Exception {
        machine.request.put("lockTimeout", 0.3);
        machine.nvidiaSmi.process(0, child.pid(), "1542");
        var facts = hang("open_state", machine.input("observe")).answer().get("facts");
        assertThat(facts.at("/state/directory/unreadable/failure").asText()).isEqualTo("TIMEOUT");
        assertThat(facts.at("/state/directory/unreadable/reason").asText())
                .startsWith("there was no answer within 4300 ms; it is in a file system of the type ");
        assertThat(facts.at("/processes/0/environ").has("value")).isTrue();
        assertThat(facts.at("/enforcers/other").isNull()).isTrue();
    }

    @Test
    void hangingDirectoryPreventsTheReplacementButNoSignal() throws Exception {
        machine.request.put("lockTimeout", 0.3);
        for (var function : List.of("open_state", "state_file", "remove_leftovers")) {
            var output = hang(function, machine.swapInput(old, "{}"));
            assertThat(output.parsed().begun()).isEmpty();
            assertThat(output.answer().at("/swap/notWritten/reason").asText())
                    .startsWith("the state directory does not answer: there was no answer within ");
            assertThat(file("devices.json")).hasContent(old);
        }
        var output = hang("open_state", machine.signalInput(child.pid()));
        assertThat(output.answer().at("/signals/0/result/kind").asText()).isEqualTo("SENT");
        assertThat(child.awaitExit()).isEqualTo(143);
    }
}
