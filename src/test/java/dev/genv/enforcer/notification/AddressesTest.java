package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.fleet;
import static dev.genv.enforcer.notification.NoticeFixture.personal;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.notification.Addresses.AddressFile;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AddressesTest {
    @TempDir
    Path folder;

    private final UserDirectory users = new UserDirectory();

    @BeforeEach
    void addAccounts() {
        var accounts = Map.of("raz", 1003L, "a@evil.org,", 1004L, "x\r\nBcc: y", 1005L);
        users.update(fleet(
                new FakeHost(host("gpu-1").subordinate(1003, 100_000, 65_536)).setAccounts(accounts),
                new FakeHost(host("gpu-2")).setAccounts(Map.of("eve", 1003L))));
    }

    @Test
    void nameOfTheAccountWithTheDomain() {
        assertThat(byName().of(noticeOf(1003))).contains("raz@example.org");
        assertThat(byName().of(noticeOf(100_007))).contains("raz@example.org");
    }

    @Test
    void unknownUserHasNoAddress() {
        assertThat(byName().of(noticeOf(7))).isEmpty();
        assertThat(none().of(noticeOf(1003))).isEmpty();
    }

    /** A name must not add a recipient or a header. */
    @Test
    void nameThatIsNoLocalPartHasNoAddress() {
        assertThat(byName().of(noticeOf(1004))).isEmpty();
        assertThat(byName().of(noticeOf(1005))).isEmpty();
    }

    @Test
    void fileTakesPrecedence() throws IOException {
        var file = file("# people\nraz = r.a.z@example.com # boss\n\n1004=four@example.com\n");
        assertThat(byNameOrFile(file).of(noticeOf(1003))).contains("r.a.z@example.com");
        assertThat(byNameOrFile(file).of(noticeOf(1004))).contains("four@example.com");
        assertThat(byFile(file).of(noticeOf(7))).isEmpty();
    }

    /** The same uid may belong to different people on different machines. */
    @Test
    void ambiguousUserHasNoAddress() throws IOException {
        var both = only(
                personal(action(violationOf(process(812).uid(1003)).hosts("gpu-1", "gpu-2"), 812, Outcome.SIGNALLED)));
        assertThat(byName().of(both)).isEmpty();
        assertThat(byNameOrFile(file("raz=a@b.org\neve=c@d.org\n")).of(both)).isEmpty();
        assertThat(byNameOrFile(file("1003=team@b.org\n")).of(both)).contains("team@b.org");
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
        var file = Files.writeString(folder.resolve("addresses"), "eve=eve@example.org\n" + line + "\n");
        assertThatThrownBy(() -> new AddressFile(file).read()).hasMessage("line 2 is not name=address");
    }

    @Test
    void formerContentStaysWhileTheFileIsUnusable() throws IOException {
        var path = Files.writeString(folder.resolve("addresses"), "raz=a@b.org\n");
        var file = new AddressFile(path);
        assertThat(file.addresses()).containsOnlyKeys("raz");
        Files.writeString(path, "raz=\n");
        assertThat(file.addresses()).containsOnlyKeys("raz");
        Files.delete(path);
        assertThat(file.addresses()).containsOnlyKeys("raz");
        Files.writeString(path, "eve=c@d.org\n");
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

    private Addresses none() {
        return new Addresses(Optional.empty(), Optional.empty(), users);
    }

    private Addresses byName() {
        return new Addresses(Optional.of("{user}@example.org"), Optional.empty(), users);
    }

    private Addresses byFile(AddressFile file) {
        return new Addresses(Optional.empty(), Optional.of(file), users);
    }

    private Addresses byNameOrFile(AddressFile file) {
        return new Addresses(Optional.of("{user}@example.org"), Optional.of(file), users);
    }

    private static PersonalNotice noticeOf(long uid) {
        return only(personal(action(violationOf(process(812).uid(uid)), 812, Outcome.SIGNALLED)));
    }

    private static PersonalNotice only(List<PersonalNotice> notices) {
        assertThat(notices).hasSize(1);
        return notices.getFirst();
    }
}
