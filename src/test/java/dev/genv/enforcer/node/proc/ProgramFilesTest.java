package dev.genv.enforcer.node.proc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ImmunityRules.ProgramHistory;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
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

/** The host's root directory is a fake one, with files of root's in it. */
class ProgramFilesTest {
    private static final long ALICE = 1003;
    private final List<Problem> problems = new ArrayList<>();
    private final FakeProc proc;
    private final ProcFs procFs;
    private Path host;

    ProgramFilesTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        procFs = new ProcFs(folder);
    }

    @BeforeEach
    void makeHost() throws IOException {
        host = proc.hostRoot();
        Files.createDirectories(host.resolve("etc"));
        Files.writeString(host.resolve("etc/passwd"), "root:x:0:0:::\nalice:x:%d:1:::\n".formatted(ALICE));
    }

    @Test
    void builtInProgramsThatAreNotInstalledAreIgnored() throws IOException {
        var immunityCheck = load(List.of(), List.of());
        assertThat(problems).isEmpty();
        proc.process(812).exe(Path.of("/no/such/sleep"));
        assertThat(immunity(immunityCheck, 812, 0L)).isNull();
    }

    @Test
    void usersAreExemptByNameOrByUid() throws IOException {
        var immunityCheck = load(List.of(), List.of("alice", "2000"));
        assertThat(immunityCheck.exempt()).containsExactlyInAnyOrder(ALICE, 2000L);
        proc.process(812);
        for (var uid : List.of(ALICE, 2000L)) {
            assertThat(immunity(immunityCheck, 812, uid))
                    .isEqualTo(
                            new Immunity(Immunity.Kind.EXEMPT, "it belongs to uid %d, which is exempt".formatted(uid)));
        }
        assertThat(immunity(immunityCheck, 812, 2001L)).isNull();
        assertThat(immunity(immunityCheck, 812, null)).isNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void unknownExemptUserIsReportedAtEveryLoad() throws IOException {
        for (var time = 1; time <= 2; time++) {
            assertThat(load(List.of(), List.of("bob", "alice")).exempt()).containsExactly(ALICE);
            assertThat(problems).hasSize(time).extracting(Problem::code).containsOnly(ProblemCode.SETTING_USER_UNKNOWN);
        }
        assertThat(problems.getFirst().detail()).contains("bob").contains("GENV_ENFORCER_EXEMPT_USERS");
        Files.writeString(host.resolve("etc/passwd"), "bob:x:7:7:::\nalice:x:8:8:::\n");
        assertThat(load(List.of(), List.of("bob", "alice")).exempt()).containsExactlyInAnyOrder(7L, 8L);
        assertThat(problems).hasSize(2);
    }

    @Test
    void programIsProtectedForRootAndConfiguredUsers() throws IOException {
        var program = file("opt/server");
        proc.process(812).exe(program);
        var roots = load(List.of("/opt/server"), List.of());
        assertThat(immunity(roots, 812, 0L)).isNotNull();
        assertThat(immunity(roots, 812, ALICE)).isNull();
        assertThat(immunity(roots, 812, null)).as("who knows").isNotNull();
        for (var processOfAlice : List.of("/opt/server@alice", "/opt/server@" + ALICE)) {
            var immunityCheck = load(List.of(processOfAlice), List.of());
            assertThat(immunity(immunityCheck, 812, 0L)).isNotNull();
            assertThat(immunity(immunityCheck, 812, ALICE)).isNotNull();
            assertThat(immunity(immunityCheck, 812, 5L)).isNull();
        }
        assertThat(immunity(load(List.of("/opt/server@*"), List.of()), 812, 5L)).isNotNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void builtInProgramsAreProtected() throws IOException {
        var mps = file("usr/bin/nvidia-cuda-mps-server");
        var xorg = file("usr/lib/xorg/Xorg");
        var immunityCheck = load(List.of(), List.of());
        proc.process(812).exe(mps);
        proc.process(813).exe(xorg);
        assertThat(immunity(immunityCheck, 812, ALICE)).isNotNull();
        assertThat(immunity(immunityCheck, 813, 0L)).isNotNull();
        assertThat(immunity(immunityCheck, 813, ALICE)).isNull();
    }

    @Test
    void unknownUserOfProgramIsReportedAndRootStaysProtected() throws IOException {
        proc.process(812).exe(file("opt/server"));
        var immunityCheck = load(List.of("/opt/server@bob"), List.of());
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.SETTING_USER_UNKNOWN);
        assertThat(problems.getFirst().detail()).contains("GENV_ENFORCER_PROTECTED_EXECUTABLES");
        assertThat(immunity(immunityCheck, 812, 0L)).isNotNull();
        assertThat(immunity(immunityCheck, 812, ALICE)).isNull();
    }

    /** Only links of root's are on this way, and an absolute one stays within the host. */
    @Test
    void linksAreFollowedWithinTheHost() throws IOException {
        proc.process(812).exe(file("store/bin/server"));
        Files.createSymbolicLink(host.resolve("opt"), Path.of("/store/bin"));
        assertThat(immunity(load(List.of("/opt/server"), List.of()), 812, 0L)).isNotNull();
        assertThat(problems).isEmpty();
    }

    @Test
    void missingProgramIsReported() throws IOException {
        assertUnusable("/opt/none", "no such file");
        Files.createDirectories(host.resolve("opt/folder"));
        assertUnusable("/opt/folder", "not a file");
    }

    @ParameterizedTest
    @ValueSource(strings = {"opt/server", "opt"})
    void programThatOthersCanChangeIsReported(String part) throws IOException {
        proc.process(812).exe(file("opt/server"));
        Files.setAttribute(host.resolve(part), "unix:mode", 0775);
        assertUnusable("/opt/server", "others can write");
        Files.setAttribute(host.resolve(part), "unix:mode", 0755);
        Files.setAttribute(host.resolve(part), "unix:uid", (int) ALICE);
        assertUnusable("/opt/server", "belongs to user " + ALICE);
    }

    @Test
    void unreadableProgramProtectsAllProcessesOfItsUsers() throws IOException {
        requireRoot();
        Files.createSymbolicLink(host.resolve("loop"), Path.of("/loop"));
        proc.process(812).exe(Path.of("/no/such/sleep"));
        var immunityCheck = load(List.of("/loop"), List.of());
        assertThat(problems).extracting(Problem::code).containsExactly(ProblemCode.PROTECTED_UNUSABLE);
        assertThat(immunity(immunityCheck, 812, 0L))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it is unknown whether it runs /loop"));
        assertThat(immunity(immunityCheck, 812, ALICE)).isNull();
    }

    private void assertUnusable(String path, String why) throws IOException {
        requireRoot();
        problems.clear();
        var immunityCheck = load(List.of(path), List.of());
        assertThat(problems).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.PROTECTED_UNUSABLE);
            assertThat(problem.detail()).startsWith(path).contains(why);
        });
        assertThat(immunityCheck.programs()).isEmpty();
    }

    private Path file(String name) throws IOException {
        requireRoot();
        var file = host.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, name);
    }

    private static void requireRoot() throws IOException {
        Requirements.root();
    }

    private ImmunityRules load(List<String> programs, List<String> exempt) {
        var settings = new ObserverSettings(
                "gpu-1",
                "/var/tmp/genv",
                programs.stream().map(ProtectedExecutable::parse).toList(),
                exempt,
                false,
                true,
                true,
                false,
                Advice.CONTAINER,
                Memory.ZERO);
        var paths = settings.programs().stream().map(ProtectedExecutable::path).toList();
        var files = new ProgramFiles(procFs, paths).read();
        var passwd = (Reading.Value<TextFile>) new AccountFiles(procFs).read().passwd();
        var accounts = PasswdFile.parse(requireNonNull(passwd.value().content()).text());
        var findings = new Findings();
        var rules = ImmunityRules.of(
                settings.exemptUsers(), settings.programs(), 4711, accounts, files, new ProgramHistory(), findings);
        problems.addAll(findings.problems());
        return rules;
    }

    private @Nullable Immunity immunity(ImmunityRules rules, int pid, @Nullable Long uid) {
        return rules.immunity(new ObservedProcess(
                new ProcessId(pid, 1000),
                uid,
                "any",
                ProgramEnviron.unavailable(new Membership.Unknown("")),
                null,
                false,
                Cgroup.UNKNOWN,
                0,
                false,
                new ProcessReader(procFs).read(pid)));
    }
}
