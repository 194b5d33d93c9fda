package dev.genv.enforcer.node.proc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.PasswdFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class AccountFilesTest {
    private final FakeProc proc;
    private final AccountFiles accountFiles;
    private Path file;

    AccountFilesTest(@TempDir Path folder) {
        proc = new FakeProc(folder);
        accountFiles = new AccountFiles(new ProcFs(folder));
    }

    @BeforeEach
    void makeHost() throws IOException {
        file = proc.hostRoot().resolve("etc/passwd");
        Files.delete(file);
    }

    @Test
    void rereadsTheFileOnlyWhenItHasChanged() throws IOException {
        Files.writeString(file, "alice:x:1:1:::\n");
        var time = FileTime.fromMillis(1_000_000_000);
        Files.setLastModifiedTime(file, time);
        var first = accountFiles.read().passwd();
        assertThat(accountFiles.read().passwd()).isEqualTo(first);

        Files.writeString(file, "alice:x:22:1:::\n");
        Files.setLastModifiedTime(file, time);
        assertThat(accounts().uidOf("alice")).as("another size").hasValue(22L);

        Files.writeString(file, "alice:x:33:1:::\n");
        Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000_001));
        assertThat(accounts().uidOf("alice")).as("another time").hasValue(33L);

        var other = Files.writeString(file.resolveSibling("new"), "alice:x:44:1:::\n");
        Files.setLastModifiedTime(other, FileTime.fromMillis(1_000_000_001));
        Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
        assertThat(accounts().uidOf("alice")).as("another file").hasValue(44L);
    }

    /** An absolute link leads to where it leads on the host. */
    @Test
    void followsALinkWithinTheHost() throws IOException {
        var real = Files.createDirectories(proc.hostRoot().resolve("store/etc")).resolve("users");
        Files.writeString(real, "alice:x:1003:1003:::\n");
        Files.createSymbolicLink(file, Path.of("/store/etc/users"));
        assertThat(accounts().uidOf("alice")).hasValue(1003L);
    }

    /** The image's accounts have other uids than those of the host. */
    @Test
    void neverUsesTheContainersAccountsInPlaceOfTheHosts() throws Exception {
        assertThat(accountFiles.read().passwd())
                .isInstanceOfSatisfying(
                        Reading.Failed.class,
                        failed -> assertThat(failed.failure()).isEqualTo(Reading.Failure.ABSENT));
        Fifo.at(file);
        assertThat(accountFiles.read().passwd()).isInstanceOf(Reading.Failed.class);
        Files.delete(file);
        Files.write(file, new byte[(4 << 20) + 1]);
        assertThat(accountFiles.read().passwd()).isInstanceOf(Reading.Failed.class);
    }

    @Test
    void usesTheContainersAccountsIfTheHostsFilesAreOutOfReach(@TempDir Path noHost) {
        var passwd = new AccountFiles(new ProcFs(noHost)).read().passwd();
        assertThat(passwd).isInstanceOf(Reading.Value.class);
    }

    private Accounts accounts() {
        var passwd = (Reading.Value<TextFile>) accountFiles.read().passwd();
        return PasswdFile.parse(requireNonNull(passwd.value().content()).text());
    }
}
