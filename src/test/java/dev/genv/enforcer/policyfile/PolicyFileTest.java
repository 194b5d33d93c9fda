package dev.genv.enforcer.policyfile;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.policy.PolicyDocument;
import dev.genv.enforcer.policyfile.PolicyFile.Content;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who can change a policy file, and a reader that fails. */
class PolicyFileTest {
    @TempDir
    Path folder;

    @Test
    void anErrorOfTheReaderIsAReason() throws Exception {
        var document = PolicyDocument.empty(PolicyReaderTest.ZONE);
        assertThat(Content.of(() -> document).get()).isSameAs(document);
        var invalid = Content.of(() -> PolicyReaderTest.read("a: 1"));
        assertThatThrownBy(invalid::get).hasMessageStartingWith("line 1, column 1: a: there is no such key");
        var defect = Content.of(() -> {
            throw new IllegalStateException("a defect");
        });
        assertThatThrownBy(defect::get)
                .isInstanceOf(IOException.class)
                .hasMessage("it cannot be read: java.lang.IllegalStateException: a defect");
        var deep = Content.of(() -> {
            throw new StackOverflowError();
        });
        assertThatThrownBy(deep::get).hasMessage("it cannot be read: java.lang.StackOverflowError");
    }

    /** Both files are exchanged all the time, so that the opened one is often not the one whose path was examined. */
    @ParameterizedTest
    @ValueSource(strings = {"others can write", "belongs to user"})
    void theOpenedFileIsExaminedToo(String reason) throws Exception {
        var file = folder.resolve("policy.yaml");
        var own = Files.writeString(folder.resolve("own"), "max_devices: {default: 2}");
        var foreign = Files.writeString(folder.resolve("foreign"), "max_devices: {default: 9}");
        if (reason.startsWith("belongs")) {
            Requirements.root();
            Files.setAttribute(foreign, "unix:uid", TestUsers.ATTACKER_UID);
        } else {
            Files.setPosixFilePermissions(foreign, PosixFilePermissions.fromString("rw-rw-rw-"));
        }
        exchange(own, file);
        var policy = new PolicyFile(file, PolicyReaderTest.ZONE);
        var expected = policy.current();
        var isOver = new AtomicBoolean();
        var exchanges = CompletableFuture.runAsync(() -> {
            for (var i = 0; !isOver.get(); i++) {
                exchange(i % 2 == 0 ? foreign : own, file);
            }
        });
        try {
            var refused = 0;
            for (var look = 0; look < 2000 || refused == 0; look++) {
                try {
                    assertThat(policy.current()).isEqualTo(expected);
                } catch (IOException e) {
                    assertThat(e).hasMessageContaining(reason);
                    refused++;
                }
            }
        } finally {
            isOver.set(true);
            exchanges.get(HANG.toSeconds(), TimeUnit.SECONDS);
        }
    }

    private void exchange(Path other, Path file) {
        try {
            var link = Files.createLink(folder.resolve("link"), other);
            Files.move(link, file, StandardCopyOption.ATOMIC_MOVE);
            Files.deleteIfExists(link); // rename(2) does nothing if both are the same file
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** As Kubernetes mounts a ConfigMap: a folder with mode 0777, in which the file is a link through a link. */
    @Test
    void aFolderThatAllCanWriteIsTrustedOnAReadOnlyVolumeOnly() throws Exception {
        Requirements.root();
        var volume = Files.createDirectory(folder.resolve("volume"));
        var mounts = new ProcessBuilder("mount", "-t", "tmpfs", "-o", "mode=0777,size=1m", "tmpfs", volume.toString());
        Requirements.mounts(mounts.start().waitFor() == 0);
        try {
            Files.writeString(
                    Files.createDirectory(volume.resolve("..2026_1")).resolve("policy.yaml"),
                    "max_devices: {default: 2}");
            Files.createSymbolicLink(volume.resolve("..data"), Path.of("..2026_1"));
            var file = Files.createSymbolicLink(volume.resolve("policy.yaml"), Path.of("..data/policy.yaml"));
            var policy = new PolicyFile(file, PolicyReaderTest.ZONE);
            assertThatThrownBy(policy::current).hasMessage("others can write " + volume);

            Programs.run("mount", "-o", "remount,ro", volume.toString());
            assertThat(policy.current().values().all()).hasSize(1);

            Programs.run("mount", "-o", "remount,rw", volume.toString());
            Files.setAttribute(volume, "unix:uid", TestUsers.ATTACKER_UID);
            Programs.run("mount", "-o", "remount,ro", volume.toString());
            assertThatThrownBy(policy::current).hasMessage("%s belongs to user %d", volume, TestUsers.ATTACKER_UID);
        } finally {
            Programs.run("umount", volume.toString());
        }
    }
}
