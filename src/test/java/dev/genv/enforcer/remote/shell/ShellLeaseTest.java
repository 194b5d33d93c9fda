package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Several services that act on one machine from afar: one does, the others watch. */
@Timeout(600)
@ParameterizedClass
@MethodSource("shells")
class ShellLeaseTest {
    private static final String WATCHES =
            "another service acts on this host from afar, or this one did before it was started anew, and that lease is not over";

    private final Path folder;
    private final Machine machine;
    private final ShellAgent one;
    private final ShellAgent two;
    private final Child child = Child.inEnvironment("15971");

    ShellLeaseTest(String shell, @TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder, shell);
        one = machine.agent();
        two = machine.service("two").agent();
    }

    static Stream<String> shells() {
        return OneShell.all();
    }

    @BeforeEach
    void write() throws IOException {
        machine.smi.process(0, child.pid(), "1542");
        machine.files().device(0).device(1).write();
    }

    @AfterEach
    void end() {
        child.close();
    }

    @Test
    void theSecondOnlyWatches() throws Exception {
        assertThat(look(one).watchesOnly()).isNull();
        var look = look(two);
        assertThat(look.watchesOnly()).isEqualTo(WATCHES);
        assertThat(look.snapshot().problems())
                .contains(new Problem(ProblemCode.SECOND_ENFORCER, WATCHES + ": this one only watches"));
        assertThat(look(one).watchesOnly()).isNull();
        assertThat(terminate(two, look(two))).isEqualTo(Result.failed(WATCHES));
        assertThat(look(machine.audits().agent()).watchesOnly()).isNull();
    }

    /** Between the look and the deed the lease may pass to another; nobody's users can move it away. */
    @Test
    void whoseLeaseItIsIsAskedAgainBeforeAnythingIsDone() throws Exception {
        var look = look(one);
        var lease = lease();
        var ours = Files.readString(lease);
        Files.writeString(lease, ours.replaceFirst("^one", "another"));
        assertThat(terminate(one, look).detail())
                .matches(
                        "another service acted on this host [0-9] s ago: watching until its lease is over, in [56][0-9] s");
        assertThat(child.isAlive()).isTrue();
        Files.writeString(lease, ours);
        assertThat(terminate(one, look)).isEqualTo(Result.of(Outcome.SIGNALLED));
    }

    @Test
    void itEndsWithItsTimeOrWithTheMachine() throws Exception {
        assertThat(look(one).watchesOnly()).isNull();
        var boot = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
        var lease = lease();
        for (var old :
                List.of("one 1 5 " + boot, "one 1 999999999 other-boot", "", "one", "one x 9 " + boot, "one 1")) {
            Files.writeString(lease, old + "\n");
            assertThat(look(two).watchesOnly()).as(old).isNull();
            assertThat(look(one).watchesOnly()).as(old).isNotNull();
        }
    }

    @Test
    void aSingleCycleTakesNoneButHeedsThatOfOthers() throws Exception {
        var single = machine.service("single").lease(Duration.ZERO).agent();
        assertThat(look(single).watchesOnly()).isNull();
        assertThat(look(one).watchesOnly()).isNull();
        assertThat(look(single).watchesOnly()).isEqualTo(WATCHES);
    }

    @Test
    void eachStateDirectoryHasItsOwn() throws Exception {
        assertThat(look(one).watchesOnly()).isNull();
        Files.move(machine.state, folder.resolve("former"));
        Files.createDirectory(machine.state);
        assertThat(look(two).watchesOnly()).isNull();
        Files.delete(machine.state.resolve(ShellAgent.FOLDER));
        Files.delete(machine.state);
        assertThat(look(two).watchesOnly()).isNull();
        assertThat(look(one).watchesOnly()).isEqualTo(WATCHES);
    }

    /** Whoever owns the directory of the state can make another one whenever he likes. */
    @Test
    void thoseOfDirectoriesThatAreGoneAreTakenAway() throws Exception {
        look(one);
        var lease = lease();
        var former = Files.writeString(machine.run.resolve("1:2"), "one 1 5 boot\n");
        var garbage = Files.writeString(machine.run.resolve("1:3"), "");
        Files.delete(lease);
        look(one);
        assertThat(former).doesNotExist();
        assertThat(garbage).doesNotExist();
        assertThat(lease).exists();
    }

    @Test
    void aPlaceWhereOthersCanWriteIsNotUsed() throws Exception {
        Files.createDirectory(machine.run);
        Files.setPosixFilePermissions(machine.run, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertNoLease();
        Files.delete(machine.run);
        Files.createSymbolicLink(machine.run, Files.createDirectory(folder.resolve("target")));
        Files.setPosixFilePermissions(folder.resolve("target"), PosixFilePermissions.fromString("rwx------"));
        assertNoLease();
        assertThat(folder.resolve("target")).isEmptyDirectory();
        Files.delete(machine.run);
        Files.createFile(machine.run);
        assertNoLease();
    }

    private void assertNoLease() throws Exception {
        for (var agent : List.of(one, two)) {
            var look = look(agent);
            assertThat(look.watchesOnly()).isNull();
            assertThat(look.snapshot().problems())
                    .extracting(Problem::code)
                    .doesNotContain(ProblemCode.SECOND_ENFORCER);
        }
    }

    @Test
    void whoCannotAskWatches() throws Exception {
        look(one);
        try (var _ = RealFlock.take(machine.run.resolve("lock"))) {
            assertThat(look(one).watchesOnly()).isEqualTo(WATCHES);
        }
        assertThat(look(one).watchesOnly()).isNull();
    }

    private Path lease() throws IOException {
        try (var files = Files.list(machine.run)) {
            return files.filter(file -> file.getFileName().toString().contains(":"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private Host.Look look(ShellAgent agent) throws Exception {
        return agent.look(machine.shell, Set.of());
    }

    private Result terminate(ShellAgent agent, Host.Look look) throws Exception {
        var results = new HashMap<Action, Result>();
        var action = new Action.Terminate("gpu-1", look.snapshot().processes().getFirst());
        agent.perform(machine.shell, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }
}
