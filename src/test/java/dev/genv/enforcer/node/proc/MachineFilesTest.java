package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class MachineFilesTest {
    private static final ObservationRequest NOTHING = new ObservationRequest(Set.of());
    private final FakeProc fake;
    private final MachineFiles machine;

    MachineFilesTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        machine = new MachineFiles(folder);
    }

    @BeforeEach
    void createEtc() throws IOException {
        Files.createDirectories(fake.root().resolve("1/root/etc"));
    }

    @Test
    void readsTheAppArmorLabelOfNewerKernels() throws IOException {
        fake.writeSelf("0", "system_u:system_r:container_t:s0");
        var folder = Files.createDirectories(fake.root().resolve("self/attr/apparmor"));
        Files.writeString(folder.resolve("current"), "docker-default (enforce)\n");
        assertThat(machine.access(true).securityLabel()).isEqualTo("docker-default (enforce)");
    }

    @Test
    void readsTheMachineAndTheFirstLineOfTheDriver() throws IOException {
        Files.writeString(fake.hostRoot().resolve("etc/machine-id"), "0123456789abcdef0123456789abcdef\n");
        fake.writeDriver("NVRM version: NVIDIA\nGCC version: gcc\n");
        var facts = machine.facts(Reading.of("/"), 1, 2);
        assertThat(facts.machineId()).isEqualTo("0123456789abcdef0123456789abcdef");
        assertThat(facts.driver()).isEqualTo("NVRM version: NVIDIA");
    }

    /**
     * The UTS namespaces of the service and of the first process, the host's file of its name, where {@code |} means a line break, and the
     * name. Outside of containers it is the kernel's.
     */
    @ParameterizedTest
    @CsvSource({
        "1, 1, gpu-1|, ours",
        "2, 1, # ours|| gpu-3 |more|, gpu-3",
        "2, 1, localhost.localdomain|, ours",
        "2, 1,, ours",
        ",, gpu-1, ours"
    })
    void inAContainerTheFirstNameInTheHostsFileIsUsed(
            @Nullable String own, @Nullable String first, @Nullable String content, String name) throws IOException {
        Files.writeString(
                Files.createDirectories(fake.root().resolve("sys/kernel")).resolve("hostname"), "ours\n");
        if (content != null) {
            Files.writeString(fake.hostRoot().resolve("etc/hostname"), content.replace('|', '\n'));
        }
        if (own != null) {
            namespace("self", own);
            namespace("1", String.valueOf(first));
        }
        assertThat(machine.hostName()).isEqualTo(name);
    }

    private void namespace(String process, String number) throws IOException {
        var folder = Files.createDirectories(fake.root().resolve(process).resolve("ns"));
        Files.createSymbolicLink(folder.resolve("uts"), Path.of("uts:[%s]".formatted(number)));
    }

    /** An absolute link leads to where it leads on the host. */
    @Test
    void accountsAreReadThroughALinkWithinTheHost() throws Exception {
        var real = Files.createDirectories(fake.hostRoot().resolve("store/etc")).resolve("users");
        Files.writeString(real, "alice:x:1003:1003:::\n");
        Files.createSymbolicLink(fake.hostRoot().resolve("etc/passwd"), Path.of("/store/etc/users"));
        assertThat(accounts())
                .isInstanceOfSatisfying(
                        Reading.Value.class,
                        value -> assertThat(value.value())
                                .extracting("content")
                                .isEqualTo(bytes("alice:x:1003:1003:::\n")));
    }

    /** The image's accounts have other uids than those of the host. */
    @Test
    void neverUsesTheContainersAccountsInPlaceOfTheHosts() throws Exception {
        var file = fake.hostRoot().resolve("etc/passwd");
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.ABSENT);
        Programs.fifo(file);
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.OTHER);
        Files.delete(file);
        Files.write(file, new byte[(4 << 20) + 1]);
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.OTHER);
    }

    @Test
    void usesTheContainersAccountsIfTheHostsFilesAreOutOfReach(@TempDir Path noHost) throws Exception {
        assertThat(accountFiles(noHost, "getent", TestTimeouts.HANG)
                        .read(NOTHING, Stream.of())
                        .passwd())
                .isInstanceOf(Reading.Value.class);
    }

    /** The service's PID namespace, the root directories of the machine's first process and of the service, and whether it runs on the host. */
    @ParameterizedTest
    @CsvSource({
        "4026531836, 1/root, true",
        "4026532000, 1/root, false",
        "4026531836, image, false",
        "4026531836, gone, false"
    })
    void asksOnlyTheNameServiceOfTheHost(long namespace, String own, boolean isAsked) throws Exception {
        fake.pidNamespace(namespace);
        fake.writeSelf("000001ffffffffff", "unconfined");
        Files.createDirectory(fake.root().resolve("image"));
        Files.createSymbolicLink(fake.root().resolve("self/root"), fake.root().resolve(own));
        assertThat(named("echo \"$@\"", "alice", "1009"))
                .isEqualTo(isAsked ? Reading.of(bytes("-- passwd alice 1009\n")) : Reading.failed(Failure.ABSENT, ""));
    }

    /** Otherwise a number of the settings would count as a uid, and the account of that name would not be exempt. */
    @Test
    void doesNotKnowWhoseTheNameServiceIsIfRootMayNotLook() throws Exception {
        fake.pidNamespace(4026531836L);
        fake.writeSelf("0000000000000020", "unconfined");
        Files.createSymbolicLink(fake.root().resolve("self/root"), Path.of("gone"));
        var isRoot = CurrentProcess.isRoot();
        assertThat(named("echo \"$@\"", "alice"))
                .extracting("failure")
                .isEqualTo(isRoot ? Failure.DENIED : Failure.ABSENT);
        assertThat(configured("echo 5", "20231234")).isEqualTo(isRoot ? "DENIED" : "SKIPPED");
    }

    /** What getent(1) does, and the answer: without a reason, it is one. */
    @ParameterizedTest
    @CsvSource({
        "echo a:x:1:; exit 2,",
        "echo a:x:1:,",
        "echo a:x:1:; exit 1, getent exited with 1",
        "sleep 600, did not exit within 300 ms"
    })
    void doesNotTakeAFailureOfTheNameServiceForAnAnswer(String getent, @Nullable String reason) throws Exception {
        fake.pidNamespace(4026531836L);
        Files.createSymbolicLink(fake.root().resolve("self/root"), fake.hostRoot());
        if (reason == null) {
            assertThat(named(getent, "a")).isEqualTo(Reading.of(bytes("a:x:1:\n")));
        } else {
            assertThat(named(getent, "a"))
                    .isInstanceOfSatisfying(
                            Reading.Failed.class,
                            failed -> assertThat(failed.reason()).endsWith(reason));
        }
    }

    /** The request names alice. Uid 5000 is in passwd(5), 5001 is known, 5002 twice and as a subordinate uid, and one more may be asked. */
    @Test
    void asksInTheSameCallForUidsThatNobodyKnows() throws Exception {
        fake.pidNamespace(4026531836L);
        Files.createSymbolicLink(fake.root().resolve("self/root"), fake.hostRoot());
        Files.writeString(fake.hostRoot().resolve("etc/passwd"), "bob:x:5000:0:::\n");
        var uids = new SubordinateUids(List.of(new SubordinateUids.Range(5002, 100_000, 10)));
        var facts = getent("echo \"$@\"")
                .read(
                        request(List.of("alice"), Set.of(5001L), 1, uids),
                        Stream.of(5000L, 5001L, 5002L, 5002L, 100_001L, 5003L));
        assertThat(facts.asked()).containsExactly("alice", "5002");
        assertThat(facts.named()).isEqualTo(Reading.of(bytes("-- passwd alice 5002\n")));
        assertThat(getent("exit 1").read(request(List.of(), Set.of(), 0, uids), Stream.of(5002L)))
                .satisfies(paused -> {
                    assertThat(paused.asked()).isEmpty();
                    assertThat(paused.named()).isEqualTo(AccountFacts.NOT_ASKED);
                });
    }

    /** What getent(1) or id(1) does for each user of the settings, and what is read for the first and the second one. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        echo svc-infer:x:70011:1:::     | SVC-INFER alice | Value[value=70011] Value[value=70011]
        exit 2                          | a b             | ABSENT ABSENT
        [ $3 = b ] && exit 2; echo a:x:5: | a b           | Value[value=5] ABSENT
        exit 1                          | a b             | OTHER NO_TIME
        echo garbage                    | a b             | OTHER NO_TIME
        sleep 600                       | a b             | OTHER NO_TIME
        [ "$*" = "-u -- 20231234" ] && echo 70012 | 20231234 a | Value[value=70012] OTHER
        exit 1                          | 20231234 7      | ABSENT ABSENT
        """)
    void asksForEachUserOfTheSettingsAlone(String program, String users, String expected) throws Exception {
        fake.pidNamespace(4026531836L);
        Files.createSymbolicLink(fake.root().resolve("self/root"), fake.hostRoot());
        assertThat(configured(program, users)).isEqualTo(expected);
        fake.pidNamespace(4026532000L);
        assertThat(configured(program, users)).isEqualTo("SKIPPED SKIPPED");
    }

    /** The program that asks the name service for group phd and user alice, and what is read; without a program the files of the host are. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        case "$*" in "-- group phd") echo PHD:x:600:;; "-G -- alice") echo 1 600;; esac | 600  | [1, 600]
        exit 2                                   | ABSENT | OTHER
        exit 1                                   | OTHER  | ABSENT
        echo                                     | OTHER  | OTHER
        sleep 600                                | OTHER  | OTHER
                                                 | 600    | [1, 600, 601]
        """)
    void readsGroups(@Nullable String program, String number, String memberships) throws Exception {
        fake.pidNamespace(program == null ? 4026532000L : 4026531836L);
        fake.writeSelf("000001ffffffffff", "unconfined");
        Files.createSymbolicLink(fake.root().resolve("self/root"), fake.hostRoot());
        var etc = fake.hostRoot().resolve("etc");
        Files.writeString(etc.resolve("passwd"), "alice:x:1003:1:::\nalice:x:1003:7:::\nbob:x:1004:1:::\n");
        Files.writeString(etc.resolve("group"), """
            +:::
            phd:x:600:bob,alice
            phd:x:7:
            malice:x:8:malice,alicebob
            other:x:601:alice
            """);
        assertThat(groups(program == null ? "exit 1" : program, "phd", "alice")).isEqualTo(number + " " + memberships);
        if (program == null) {
            assertThat(groups("exit 1", "nobody-at-all", "nobody-at-all")).isEqualTo("ABSENT ABSENT");
            Files.delete(etc.resolve("group"));
            Files.createDirectory(etc.resolve("group"));
            assertThat(groups("exit 1", "phd", "alice")).isEqualTo("OTHER OTHER");
        }
    }

    private String groups(String program, String group, String member) throws Exception {
        var facts = getent(program)
                .read(
                        new ObservationRequest(
                                Set.of(),
                                false,
                                false,
                                List.of(),
                                List.of(),
                                Set.of(),
                                0,
                                List.of(),
                                List.of(group),
                                List.of(member),
                                SubordinateUids.NONE),
                        Stream.of());
        return Stream.of(facts.groups().getFirst(), facts.memberships().getFirst())
                .map(reading -> reading instanceof Reading.Value<?>(var value)
                        ? value.toString()
                        : ((Reading.Failed<?>) reading).failure().toString())
                .collect(Collectors.joining(" "));
    }

    private String configured(String program, String users) throws Exception {
        return getent(program)
                .read(request(List.of(), Set.of(), 0, List.of(users.split(" ", -1)), SubordinateUids.NONE), Stream.of())
                .configured()
                .stream()
                .map(reading -> reading instanceof Reading.Failed<Long>(var failure, var _)
                        ? failure.toString()
                        : reading.toString())
                .collect(Collectors.joining(" "));
    }

    private Path install(String script) throws IOException {
        var program = Files.writeString(fake.root().resolve("program"), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
        return program;
    }

    private Reading<Bytes> named(String getent, String... asked) throws Exception {
        return getent(getent)
                .read(request(List.of(asked), Set.of(), 0, SubordinateUids.NONE), Stream.of())
                .named();
    }

    private static ObservationRequest request(
            List<String> accounts, Set<Long> known, int more, SubordinateUids subordinateUids) {
        return request(accounts, known, more, List.of(), subordinateUids);
    }

    private static ObservationRequest request(
            List<String> accounts, Set<Long> known, int more, List<String> users, SubordinateUids subordinateUids) {
        return new ObservationRequest(
                Set.of(), false, false, List.of(), accounts, known, more, users, List.of(), List.of(), subordinateUids);
    }

    private AccountFiles getent(String script) throws Exception {
        return accountFiles(
                fake.root(),
                install(script).toString(),
                script.startsWith("sleep") ? Duration.ofMillis(300) : TestTimeouts.HANG);
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static AccountFiles accountFiles(Path proc, String getent, Duration limit) {
        return new AccountFiles(
                new ProcFs(proc), new ChildProcess(getent, limit), new ChildProcess(getent, limit), limit);
    }

    private Reading<TextFile> accounts() throws InterruptedException {
        return accountFiles(fake.root(), "getent", TestTimeouts.HANG)
                .read(NOTHING, Stream.of())
                .passwd();
    }
}
