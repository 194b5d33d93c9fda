package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.fleet;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.notification.Addresses.Address;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which account and which address a user has. */
class AddressesTest {
    private static final Set<String> HOST = Set.of("gpu-1");
    private static final Address NONE = new Address(Optional.empty(), false);
    private static final Address PENDING = new Address(Optional.empty(), true);

    @TempDir
    Path folder;

    private final UserDirectory users = new UserDirectory(false);

    @BeforeEach
    void addAccounts() {
        var accounts = Map.of("raz", 1003L, "a@evil.org,", 1004L, "x\r\nBcc: y", 1005L);
        users.update(fleet(
                new FakeHost(host("gpu-1").subordinate(1003, 100_000, 65_536)).setAccounts(accounts),
                new FakeHost(host("gpu-2")).setAccounts(Map.of("eve", 1003L))));
    }

    /** A name must not add a recipient or a header. */
    @Test
    void nameOfTheAccountWithTheDomainIfItIsALocalPart() {
        assertThat(byName().of(HOST, 1003).text()).contains("raz@example.org");
        assertThat(byName().of(HOST, 1004)).isEqualTo(NONE);
        assertThat(byName().of(HOST, 1005)).isEqualTo(NONE);
        assertThat(byName().of(HOST, 7)).isEqualTo(PENDING);
        assertThat(new Addresses(Optional.empty(), Optional.empty(), users)
                        .of(HOST, 1003)
                        .text())
                .isEmpty();
    }

    /** A directory may show users as {@code user@domain} or {@code DOMAIN\\user}. */
    @ParameterizedTest
    @CsvSource({
        "First.Last, First.Last@example.org",
        "UPPER, UPPER@example.org",
        "user@corp.example.org,",
        "CORP\\user,",
        "a$,"
    })
    void nameThatGivesNoAddressIsReported(String name, @Nullable String address) throws IOException {
        users.update(fleet(machine("gpu-1", Map.of(name, 1003L))));
        var addresses = byName();
        assertThat(addresses.of(HOST, 1003).text()).isEqualTo(Optional.ofNullable(address));
        if (address != null) {
            assertThat(addresses.problem()).isEmpty();
        } else {
            assertThat(addresses.problem())
                    .hasValueSatisfying(problem -> assertThat(problem).startsWith("user " + name + " gets no mail"));
        }
        assertThat(byName(file(name + "=a@b.org")).of(HOST, 1003).text()).contains("a@b.org");
    }

    @Test
    void fileTakesPrecedence() throws IOException {
        var file = file("# people\nraz = r.a.z@example.com # boss\n\n1004=four@example.com\n");
        assertThat(byName(file).of(HOST, 1003).text()).contains("r.a.z@example.com");
        assertThat(byName(file).of(HOST, 1004).text()).contains("four@example.com");
        assertThat(new Addresses(Optional.empty(), Optional.of(file), users)
                        .of(HOST, 7)
                        .text())
                .isEmpty();
    }

    /** The same uid may belong to different people on different machines. */
    @Test
    void ambiguousUserHasNoAddress() throws IOException {
        var both = Set.of("gpu-1", "gpu-2");
        assertThat(byName().of(both, 1003).text()).isEmpty();
        assertThat(byName(file("raz=a@b.org\neve=c@d.org\n")).of(both, 1003).text())
                .isEmpty();
        assertThat(byName(file("1003=team@b.org\n")).of(both, 1003).text()).contains("team@b.org");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "raz",
                "raz=",
                "raz=nobody",
                "=a@b.org",
                "raz=a@b.org,c@d.org",
                "raz=<a@b.org>",
                "raz=a@-b.org",
                "raz=a@b.org\u0000",
                "raz=.a@b.org",
                "raz=ä@b.org"
            })
    void invalidLineIsReportedWithItsNumber(String line) throws IOException {
        var file = file("eve=eve@example.org\n" + line + "\n");
        assertThatThrownBy(file::read).hasMessage("line 2 is not name=address");
    }

    @Test
    void formerContentStaysWhileTheFileIsUnusable() throws IOException {
        var file = file("raz=a@b.org\n");
        assertThat(file.addresses()).containsOnlyKeys("raz");
        file("raz=\n");
        assertThat(file.addresses()).containsOnlyKeys("raz");
        Files.delete(folder.resolve("addresses"));
        assertThat(file.addresses()).containsOnlyKeys("raz");
        file("eve=c@d.org\n");
        assertThat(file.addresses()).containsOnlyKeys("eve");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a@b.org", "a.b+c@b-c.example.org", "x@localhost", "o'neil@b.org"})
    void plainAddressesAreValid(String address) {
        assertThat(Addresses.isAddress(address)).isTrue();
    }

    private AddressFile file(String content) throws IOException {
        return new AddressFile(Files.writeString(folder.resolve("addresses"), content));
    }

    private Addresses byName(AddressFile... files) {
        return new Addresses(Optional.of("{user}@example.org"), Stream.of(files).findFirst(), users);
    }

    /** Images often run as uid 1000, which can be that of any user of the machine. */
    @Test
    void uidInAContainerOfRootIsNoPersonUnlessItIsSubordinate() {
        var ofRoot = new Workload(null, new Container("0".repeat(64)), null, null);
        assertThat(isPerson(1003, ofRoot)).isFalse();
        var processes = host("gpu-1")
                .subordinate(1003, 100_000, 65_536)
                .with(process(1).uid(100_007).workload(ofRoot))
                .with(process(2).uid(100_007).workload(ofRoot).ofItsUid())
                .with(process(3).uid(100_007).ownerUnknown())
                .snapshot()
                .processes();
        assertThat(processes).extracting(GpuProcess::isPerson).containsExactly(true, false, false);
        assertThat(isPerson(1003, Workload.UNKNOWN)).isFalse();
        assertThat(isPerson(1003, new Workload(null, null, new Pod("u"), null))).isFalse();
        assertThat(isPerson(1003, new Workload(null, null, null, new SlurmJob("7"))))
                .isTrue();
        assertThat(isPerson(1003, Workload.NONE)).isTrue();
    }

    private static boolean isPerson(long uid, Workload workload) {
        return process(812).uid(uid).workload(workload).build().isPerson();
    }

    @Test
    void attachmentIsThatOfTheLivePidsOfItsEnvironment() {
        users.update(fleet(new FakeHost(host("gpu-1")
                .with(
                        env("a").uid(1003).livePidsOf(1003),
                        env("b").uid(1004),
                        env("c").disputed("two owners"),
                        env("d").withoutUid().livePidsOf(1005)))));
        assertThat(users.ownerOf(new Target("gpu-1", null, "a", 2))).hasValue(1003L);
        assertThat(users.ownerOf(new Target("gpu-1", null, "b", 2))).isEmpty();
        assertThat(users.ownerOf(new Target("gpu-1", null, "c", 2))).isEmpty();
        assertThat(users.ownerOf(new Target("gpu-1", null, "d", 2))).hasValue(1005L);
        assertThat(users.ownerOf(new Target("gpu-1", null, "gone", 2))).isEmpty();
        assertThat(users.ownerOf(new Target("gpu-2", null, "a", 2))).isEmpty();
    }

    /** The message of one person must not reach the other one. */
    @Test
    void ambiguousUidHasNoNameAndFormerMachinesAreForgotten() {
        var both = Set.of("gpu-1", "gpu-2");
        users.update(fleet(
                machine("gpu-1", Map.of("raz", 1003L, "paul", 1004L, "toor", 0L, "root", 0L)),
                machine("gpu-2", Map.of("eve", 1003L, "paul", 1004L))));
        assertThat(byName().of(both, 1003)).isEqualTo(NONE);
        assertThat(byName().of(HOST, 0)).isEqualTo(NONE);
        assertThat(users.namesOf(both, 1004)).containsExactly("paul");

        users.update(fleet());
        assertThat(byName().of(HOST, 1004)).as("it may be known again").isEqualTo(PENDING);
    }

    private static FakeHost machine(String name, Map<String, Long> accounts) {
        return new FakeHost(host(name)).setAccounts(accounts);
    }
}
