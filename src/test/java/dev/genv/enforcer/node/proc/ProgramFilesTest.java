package dev.genv.enforcer.node.proc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.MachineFiles.ProgramFiles;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ImmunityRules.ProgramHistory;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
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

/** Which files are protected programs, and which program a process runs. The host's root directory is a fake one, with files of root's in it. */
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
    void programIsProtectedForRootAndConfiguredUsers() throws IOException {
        var program = file("opt/server");
        proc.process(812).exe(program);
        var roots = load(List.of("/opt/server"));
        assertThat(immunity(roots, 812, 0L)).isNotNull();
        assertThat(immunity(roots, 812, ALICE)).isNull();
        assertThat(immunity(roots, 812, null)).as("who knows").isNotNull();
        for (var processOfAlice : List.of("/opt/server@alice", "/opt/server@" + ALICE)) {
            var immunityCheck = load(List.of(processOfAlice));
            assertThat(immunity(immunityCheck, 812, 0L)).isNotNull();
            assertThat(immunity(immunityCheck, 812, ALICE)).isNotNull();
            assertThat(immunity(immunityCheck, 812, 5L)).isNull();
        }
        assertThat(immunity(load(List.of("/opt/server@*")), 812, 5L)).isNotNull();
        assertThat(problems).isEmpty();
    }

    /** Only links of root's are on this way, and an absolute one stays within the host. */
    @Test
    void linksAreFollowedWithinTheHost() throws IOException {
        proc.process(812).exe(file("store/bin/server"));
        Files.createSymbolicLink(host.resolve("opt"), Path.of("/store/bin"));
        assertThat(immunity(load(List.of("/opt/server")), 812, 0L)).isNotNull();
        assertThat(problems).isEmpty();
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

    private void assertUnusable(String path, String why) throws IOException {
        Requirements.root();
        problems.clear();
        var immunityCheck = load(List.of(path));
        assertThat(problems).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.PROTECTED_UNUSABLE);
            assertThat(problem.detail()).startsWith(path).contains(why);
        });
        assertThat(immunityCheck.programs()).isEmpty();
    }

    private Path file(String name) throws IOException {
        Requirements.root();
        var file = host.resolve(name);
        Files.createDirectories(file.getParent());
        return Files.writeString(file, name);
    }

    private ImmunityRules load(List<String> programs) {
        var unused = Path.of("unused");
        var settings = new NodeBuilder(unused, unused)
                .programs(programs.stream().map(ProtectedExecutable::parse).toArray(ProtectedExecutable[]::new))
                .settings();
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

    @Test
    void programIsProtectedByItsFileAndNotItsName() throws IOException {
        var program = file("opt/server");
        var immunityCheck = load(List.of("/opt/server"));
        assertThat(problems).isEmpty();
        proc.process(812).exe(program);
        assertThat(immunity(immunityCheck, 812, 0L))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs /opt/server"));
        proc.process(813).exe(file("home/opt/server"));
        assertThat(immunity(immunityCheck, 813, 0L)).as("a copy").isNull();
        proc.process(814).exe(Files.createLink(host.resolve("opt/other"), program));
        immunityCheck = load(List.of("/opt/server"));
        assertThat(immunity(immunityCheck, 814, 0L))
                .as("the same file by another name")
                .isNotNull();
    }

    /** Who lets his first thread end has no program there any more; it must not become a shield. */
    @Test
    void readsTheProgramFromAnotherThreadWhenTheFirstHasExited() throws IOException {
        var program = file("opt/server");
        var immunityCheck = load(List.of("/opt/server"));
        proc.process(812).thread(812);
        proc.process(812).thread(813).exe(Path.of("/no/such/sleep"));
        assertThat(immunity(immunityCheck, 812, 0L)).isNull();
        proc.process(820).thread(820);
        proc.process(820).thread(821).exe(program);
        assertThat(immunity(immunityCheck, 820, 0L)).isNotNull();
    }

    /** The kernel does not tell a name of more than 4096 bytes, and users can make one; here there is no link at all. */
    @Test
    void identifiesProgramWithoutPathByItsFile() throws IOException {
        var program = file("opt/server");
        var immunityCheck = load(List.of("/opt/server"));
        Files.createLink(proc.process(812).file("exe"), program);
        Files.writeString(proc.process(813).file("exe"), "another");
        assertThat(immunity(immunityCheck, 812, 0L))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs /opt/server"));
        assertThat(immunity(immunityCheck, 813, 0L)).isNull();
    }

    /** The kernel answers from its cache, so a program is examined although every thread waits for a process that hangs. */
    @Test
    void identifiesProgramWhenNoThreadIsLeft() throws Exception {
        proc.process(812).exe(file("opt/server"));
        var immunityCheck = load(List.of("/opt/server"));
        var reader = new ProcessReader(procFs);
        var pipes = new ArrayList<Path>();
        for (var pid = 1000; reader.read(812).environ() instanceof Reading.Value; pid++) {
            var environ = proc.process(pid).uid(pid).file("environ");
            Files.delete(environ);
            pipes.add(Fifo.at(environ));
            assertThat(reader.read(pid).environ()).isInstanceOf(Reading.Failed.class);
        }
        assertThat(reader.read(812).environ())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.NO_TIME));
        assertThat(immunity(immunityCheck, 812, 0L))
                .isEqualTo(new Immunity(Immunity.Kind.PROTECTED, "it runs /opt/server"));
        for (var pipe : pipes) {
            Files.newOutputStream(pipe).close();
        }
    }
}
