package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.ChildProcess;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The users of settings in a real LDAP directory: found, not found, slow, stopped and back again, at the start and in the middle. */
@Tag("long")
@Timeout(900)
class RealDirectoryTest {
    private static final int SVC = 70_011;
    private static final int STUDENT = 70_012;
    /** A name, the same in another spelling, and a name of digits, which is also the uid of an account in the file. */
    private static final List<String> USERS = List.of("svc-infer", "SVC-INFER", "20231234", "nobody-at-all");

    private static final Reading<Long> ABSENT = Reading.failed(Failure.ABSENT, "");
    private static final List<Reading<Long>> FOUND =
            List.of(Reading.of(70_011L), Reading.of(70_011L), Reading.of(70_012L), ABSENT);

    @TempDir
    Path folder;

    private RealDirectory directory;
    private DescribedMachine machine;

    @BeforeEach
    void prepare() throws IOException {
        directory = new RealDirectory(
                Files.createDirectory(folder.resolve("ldap")), Map.of("svc-infer", SVC, "20231234", STUDENT));
        machine = new DescribedMachine(Hands.AGENT, folder.resolve("agent"));
        machine.exempt.addAll(List.of("Svc-Infer", "20231234"));
        machine.nameService();
        machine.passwd("root:x:0:0:::\nbob:x:1004:1:::\nlocal:x:%d:1:::\n".formatted(RealDirectory.LOCAL_UID));
        Files.writeString(machine.etc.resolve("machine-id"), "0123456789abcdef".repeat(2) + "\n");
        machine.listProcesses("GPU-0, 812, 1542\nGPU-1, 813, 1\nGPU-1, 814, 1\n", 0);
        machine.process(812, SVC, "GENV_ENVIRONMENT_ID=a");
        machine.process(813, STUDENT, "GENV_ENVIRONMENT_ID=a");
        machine.process(814, DescribedMachine.BOB, "GENV_ENVIRONMENT_ID=a");
        machine.envs(
                DescribedMachine.env("a", SVC, "svc-infer", "812"), DescribedMachine.env("b", SVC, "SVC-INFER", "812"));
    }

    @AfterEach
    void close() throws IOException {
        machine.close();
        directory.close();
    }

    @Test
    void exemptUsersAreNeverTakenForNobody() throws Exception {
        var service = agent();
        var first = service.observe(Set.of());
        assertThat(immunities(first)).as("no client").isEqualTo("PERHAPS_EXEMPT PERHAPS_EXEMPT none");
        assertThat(first.missing()).containsExactly(SnapshotPart.EXEMPT_USERS);
        assertThat(node(TestTimeouts.HANG))
                .as("the file answers for the number")
                .containsExactly(ABSENT, ABSENT, Reading.of(RealDirectory.LOCAL_UID), ABSENT);

        directory.startClient();
        assertThat(immunities(service.observe(Set.of()))).as("no directory").startsWith("PERHAPS_EXEMPT PERHAPS");

        directory.startDirectory();
        await().until(() -> node(TestTimeouts.HANG).equals(FOUND));
        awaitFound(service);
        var spelling = agent(); // the clock of this machine stands still, so the other one asks for no name again
        await().untilAsserted(() -> assertThat(
                        spelling.observe(Set.of()).details().accounts().nameOf("SVC-INFER"))
                .isEqualTo("svc-infer"));

        directory.setClientHangs(true);
        assertThat(node(Duration.ofMillis(300)).getFirst())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Failure.OTHER));
        assertThat(immunities(service.observe(Set.of()))).as("found before").isEqualTo("EXEMPT EXEMPT none");
        var restarted = agent();
        restarted.restore(service.remembered());
        assertThat(immunities(restarted.observe(Set.of()))).as("stored").isEqualTo("EXEMPT EXEMPT none");
        var without = agent();
        var hanging = without.observe(Set.of());
        assertThat(immunities(hanging)).as("not stored").isEqualTo("PERHAPS_EXEMPT PERHAPS_EXEMPT none");
        assertThat(hanging.problems()).anyMatch(problem -> problem.code() == ProblemCode.PASSWD_UNREADABLE);

        directory.setClientHangs(false);
        directory.stopDirectory();
        await().until(() -> node(TestTimeouts.HANG).getFirst().equals(ABSENT));
        assertThat(immunities(service.observe(Set.of())))
                .as("not found any more")
                .isEqualTo("EXEMPT EXEMPT none");
        var late = agent();
        assertThat(immunities(late.observe(Set.of()))).as("never found").startsWith("PERHAPS_EXEMPT PERHAPS_EXEMPT");

        directory.startDirectory();
        await().until(() -> node(TestTimeouts.HANG).equals(FOUND));
        awaitFound(late);
        directory.stopClient();
        assertThat(immunities(late.observe(Set.of()))).isEqualTo("EXEMPT EXEMPT none");
    }

    private static void awaitFound(ObservedHost host) {
        await().until(() -> {
            var seen = host.observe(Set.of());
            return immunities(seen).equals("EXEMPT EXEMPT none") && seen.isComplete();
        });
    }

    private ObservedHost agent() {
        return machine.host(directory.command().toArray(String[]::new));
    }

    private static String immunities(Snapshot seen) {
        return String.join(
                " ",
                seen.processes().stream()
                        .map(process -> process.immunity())
                        .map(immunity -> immunity == null ? "none" : name(immunity))
                        .toList());
    }

    private static String name(Immunity immunity) {
        return immunity.kind().name();
    }

    /** What the node reads, with getent(1) and id(1) on the machine that uses the directory. */
    private List<Reading<Long>> node(Duration limit) throws IOException, InterruptedException {
        var files = new AccountFiles(
                new ProcFs(machine.proc.root()), program("getent", limit), program("id", limit), TestTimeouts.HANG);
        return files.read(
                        new ObservationRequest(
                                Set.of(),
                                false,
                                false,
                                List.of(),
                                List.of(),
                                Set.of(),
                                0,
                                USERS,
                                List.of(),
                                List.of(),
                                SubordinateUids.NONE),
                        Stream.empty())
                .configured();
    }

    private ChildProcess program(String name, Duration limit) throws IOException {
        var program = folder.resolve(name);
        Programs.install(program, "#!/bin/sh\nexec %s \"$@\"\n".formatted(String.join(" ", directory.command(name))));
        return new ChildProcess(program.toString(), limit);
    }
}
