package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The host's root directory is a make-believe one, with files of root's in it. */
class GuardTest {
    private static final long ALICE = 1003;
    private final List<Problem> problems = new ArrayList<>();
    private final FakeProc proc;
    private Path host;

    GuardTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
    }

    @BeforeEach
    void makeHost() throws IOException {
        host = proc.hostRoot();
        Files.createDirectories(host.resolve("etc"));
        Files.writeString(host.resolve("etc/passwd"), "root:x:0:0:::\nalice:x:%d:1:::\n".formatted(ALICE));
    }

    @Test
    void nothingIsBuiltInWhereNothingIsInstalled() throws IOException {
        var spared = look(List.of(), List.of());
        assertThat(problems).isEmpty();
        proc.process(812).exe(Path.of("/no/such/sleep"));
        assertThat(immunity(spared, 812, 0L)).isNull();
    }

    @Test
    void usersAreExemptByNameOrByUid() throws IOException {
        var spared = look(List.of(), List.of("alice", "2000"));
        assertThat(spared.exempt()).containsExactlyInAnyOrder(ALICE, 2000L);
        proc.process(812);
        for (var uid : List.of(ALICE, 2000L)) {
            assertThat(immunity(spared, 812, uid))
                    .isEqualTo(new Immunity(
                            Immunity.Kind.EXEMPT, "it belongs to uid %d, of whom nothing is ended".formatted(uid)));
        }
        assertThat(immunity(spared, 812, 2001L)).isNull();
        assertThat(immunity(spared, 812, null)).isNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void aUserWhoIsNotKnownIsAProblemEachTime() throws IOException {
        var guard = guard(List.of(), List.of("bob", "alice"));
        for (var time = 1; time <= 2; time++) {
            assertThat(guard.look(problems).exempt()).containsExactly(ALICE);
            assertThat(problems).hasSize(time).extracting(Problem::code).containsOnly(ProblemCode.SETTING_USER_UNKNOWN);
        }
        assertThat(problems.getFirst().detail()).contains("bob").contains("GENV_ENFORCER_EXEMPT_USERS");
        Files.writeString(host.resolve("etc/passwd"), "bob:x:7:7:::\nalice:x:8:8:::\n");
        assertThat(guard.look(problems).exempt()).containsExactlyInAnyOrder(7L, 8L);
        assertThat(problems).hasSize(2);
    }

    @Test
    void aProtectedProgramIsTheFileAndNotItsName() throws IOException {
        var program = file("opt/server");
        var spared = look(List.of("/opt/server"), List.of());
        assertThat(problems).isEmpty();
        proc.process(812).exe(program);
        assertThat(immunity(spared, 812, 0L)).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs /opt/server"));
        proc.process(813).exe(file("home/opt/server"));
        assertThat(immunity(spared, 813, 0L)).as("a copy").isNull();
        proc.process(814).exe(Files.createLink(host.resolve("opt/other"), program));
        spared = look(List.of("/opt/server"), List.of());
        assertThat(immunity(spared, 814, 0L))
                .as("the same file by another name")
                .isNotNull();
    }

    @Test
    void aProgramIsProtectedForRootAndForWhomItIsSaid() throws IOException {
        var program = file("opt/server");
        proc.process(812).exe(program);
        var roots = look(List.of("/opt/server"), List.of());
        assertThat(immunity(roots, 812, 0L)).isNotNull();
        assertThat(immunity(roots, 812, ALICE)).isNull();
        assertThat(immunity(roots, 812, null)).as("who knows").isNotNull();
        for (var alices : List.of("/opt/server@alice", "/opt/server@" + ALICE)) {
            var spared = look(List.of(alices), List.of());
            assertThat(immunity(spared, 812, 0L)).isNotNull();
            assertThat(immunity(spared, 812, ALICE)).isNotNull();
            assertThat(immunity(spared, 812, 5L)).isNull();
        }
        assertThat(immunity(look(List.of("/opt/server@*"), List.of()), 812, 5L)).isNotNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void whatIsBuiltInIsProtected() throws IOException {
        var mps = file("usr/bin/nvidia-cuda-mps-server");
        var xorg = file("usr/lib/xorg/Xorg");
        var spared = look(List.of(), List.of());
        proc.process(812).exe(mps);
        proc.process(813).exe(xorg);
        assertThat(immunity(spared, 812, ALICE)).isNotNull();
        assertThat(immunity(spared, 813, 0L)).isNotNull();
        assertThat(immunity(spared, 813, ALICE)).isNull();
    }

    @Test
    void aUserOfAProgramWhoIsNotKnownIsAProblemAndRootsIsProtectedAllTheSame() throws IOException {
        proc.process(812).exe(file("opt/server"));
        var spared = look(List.of("/opt/server@bob"), List.of());
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.SETTING_USER_UNKNOWN);
        assertThat(problems.getFirst().detail()).contains("GENV_ENFORCER_PROTECTED_EXECUTABLES");
        assertThat(immunity(spared, 812, 0L)).isNotNull();
        assertThat(immunity(spared, 812, ALICE)).isNull();
    }

    /** Only links of root's are on this way, and an absolute one stays within the host. */
    @Test
    void linksAreFollowedWithinTheHost() throws IOException {
        proc.process(812).exe(file("store/bin/server"));
        Files.createSymbolicLink(host.resolve("opt"), Path.of("/store/bin"));
        assertThat(immunity(look(List.of("/opt/server"), List.of()), 812, 0L)).isNotNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void aProgramThatIsNotThereIsAProblem() throws IOException {
        assertUnusable("/opt/none", "no such file");
        Files.createDirectories(host.resolve("opt/folder"));
        assertUnusable("/opt/folder", "not a file");
    }

    @ParameterizedTest
    @ValueSource(strings = {"opt/server", "opt"})
    void aProgramThatIsNotRootsAloneIsAProblem(String part) throws IOException {
        proc.process(812).exe(file("opt/server"));
        Files.setAttribute(host.resolve(part), "unix:mode", 0775);
        assertUnusable("/opt/server", "others can write");
        Files.setAttribute(host.resolve(part), "unix:mode", 0755);
        Files.setAttribute(host.resolve(part), "unix:uid", (int) ALICE);
        assertUnusable("/opt/server", "belongs to user " + ALICE);
    }

    @Test
    void aProgramThatCannotBeExaminedMayBeWhatAnybodyOfItsUsersRuns() throws IOException {
        asRoot();
        Files.createSymbolicLink(host.resolve("loop"), Path.of("/loop"));
        proc.process(812).exe(Path.of("/no/such/sleep"));
        var spared = look(List.of("/loop"), List.of());
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.PROTECTED_UNUSABLE);
        assertThat(immunity(spared, 812, 0L))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "whether it runs /loop cannot be told"));
        assertThat(immunity(spared, 812, ALICE)).isNull();
    }

    @Test
    void whoseProgramCannotBeToldIsSparedIfItCouldBeAProtectedOne() throws IOException {
        file("opt/server");
        proc.process(812);
        var spared = look(List.of("/opt/server"), List.of());
        assertThat(immunity(spared, 812, 0L))
                .isNotNull()
                .extracting(Immunity::reason)
                .asString()
                .startsWith("whether it runs a protected program cannot be told");
        assertThat(immunity(spared, 812, ALICE)).isNull();
    }

    /** Who lets his first thread end has no program there any more; it must not become a shield. */
    @Test
    void theProgramIsAskedOfAnotherThreadWhereTheFirstHasEnded() throws IOException {
        var program = file("opt/server");
        var spared = look(List.of("/opt/server"), List.of());
        proc.process(812).thread(812);
        proc.process(812).thread(813).exe(Path.of("/no/such/sleep"));
        assertThat(immunity(spared, 812, 0L)).isNull();
        proc.process(820).thread(820);
        proc.process(820).thread(821).exe(program);
        assertThat(immunity(spared, 820, 0L)).isNotNull();
    }

    /** The kernel does not tell a name of more than 4096 bytes, and users can make one; here there is no link at all. */
    @Test
    void whoseProgramHasNoNameIsToldByTheFileAlone() throws IOException {
        var program = file("opt/server");
        var spared = look(List.of("/opt/server"), List.of());
        Files.createLink(proc.process(812).file("exe"), program);
        Files.writeString(proc.process(813).file("exe"), "another");
        assertThat(immunity(spared, 812, 0L)).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs /opt/server"));
        assertThat(immunity(spared, 813, 0L)).isNull();
    }

    /** A user's own file system may keep everybody else from his program, root too. */
    @Test
    void aProgramThatMayNotBeLookedAtIsNotTheProtectedOne() throws IOException {
        file("opt/server");
        var spared = look(List.of("/opt/server"), List.of());
        proc.process(812).exe(Path.of("/no/such/place/server"));
        assertThat(immunity(spared, 812, 0L)).isNull();
    }

    @Test
    void theMachineAndOurselvesAreNeverEnded() {
        var spared = look(List.of(), List.of());
        var ourselves = (int) ProcessHandle.current().pid();
        assertThat(spared.immunity(seen(1, 0L, false))).isNotNull();
        assertThat(spared.immunity(seen(ourselves, 0L, false))).isNotNull();
        assertThat(spared.immunity(seen(812, 0L, true)))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it is a thread of the kernel"));
        assertThat(spared.immunity(seen(812, 0L, false))).isNull();
    }

    private void assertUnusable(String path, String why) throws IOException {
        asRoot();
        problems.clear();
        var spared = look(List.of(path), List.of());
        assertThat(problems).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.PROTECTED_UNUSABLE);
            assertThat(problem.detail()).startsWith(path).contains(why);
        });
        assertThat(spared.files()).isEmpty();
    }

    private Path file(String name) throws IOException {
        asRoot();
        var file = host.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, name);
    }

    private static void asRoot() throws IOException {
        Requirements.root();
    }

    private Spared look(List<String> programs, List<String> exempt) {
        return guard(programs, exempt).look(problems);
    }

    private Guard guard(List<String> programs, List<String> exempt) {
        var parsed = programs.stream().map(ProtectedExecutable::parse).toList();
        return new Guard(new ProcFs(proc.root()), parsed, exempt);
    }

    private static @Nullable Immunity immunity(Spared spared, int pid, @Nullable Long uid) {
        return spared.immunity(seen(pid, uid, false));
    }

    private static ProcessProbe.Seen seen(int pid, @Nullable Long uid, boolean kernelThread) {
        return new ProcessProbe.Seen(new ProcessId(pid, 1000), uid, "any", new Membership.Outside(), kernelThread);
    }
}
