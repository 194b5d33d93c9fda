package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.AccountFacts.TextFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.node.proc.MachineFiles.AccountFiles;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class MachineFilesTest {
    private final FakeProc fake;
    private final MachineFiles machine;

    MachineFilesTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        machine = new MachineFiles(folder);
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
        var etc = Files.createDirectories(fake.hostRoot().resolve("etc"));
        Files.writeString(etc.resolve("machine-id"), "0123456789abcdef0123456789abcdef\n");
        fake.writeDriver("NVRM version: NVIDIA\nGCC version: gcc\n");
        var facts = machine.facts(1, 2);
        assertThat(facts.machineId()).isEqualTo("0123456789abcdef0123456789abcdef");
        assertThat(facts.driver()).isEqualTo("NVRM version: NVIDIA");
    }

    @BeforeEach
    void writeHostNames() throws IOException {
        Files.createDirectories(fake.root().resolve("sys/kernel"));
        Files.writeString(fake.root().resolve("sys/kernel/hostname"), "ours\n");
        Files.createDirectories(fake.root().resolve("1/root/etc"));
        Files.writeString(hostsFile(), "gpu-1\n");
    }

    @Test
    void outsideContainersTheKernelsNameIsUsed() throws IOException {
        namespaces(1, 1);
        assertThat(machine.hostName()).isEqualTo("ours");
    }

    /** Here {@code |} means a line break. */
    @ParameterizedTest
    @CsvSource({"# ours|| gpu-3 |more|, gpu-3", "localhost.localdomain|, ours"})
    void inAContainerTheFirstNameInTheHostsFileIsUsed(String content, String name) throws IOException {
        namespaces(2, 1);
        Files.writeString(hostsFile(), content.replace('|', '\n'));
        assertThat(machine.hostName()).isEqualTo(name);
    }

    @Test
    void containersNameIsUsedWhenTheHostsIsUnreadable() throws IOException {
        assertThat(machine.hostName()).isEqualTo("ours");
        namespaces(2, 1);
        Files.delete(hostsFile());
        assertThat(machine.hostName()).isEqualTo("ours");
    }

    private Path hostsFile() {
        return fake.root().resolve("1/root/etc/hostname");
    }

    private void namespaces(long ours, long first) throws IOException {
        for (var process : new String[] {"self", "1"}) {
            var folder = Files.createDirectories(fake.root().resolve(process).resolve("ns"));
            Files.createSymbolicLink(
                    folder.resolve("uts"), Path.of("uts:[%d]".formatted(process.equals("self") ? ours : first)));
        }
    }

    /** An absolute link leads to where it leads on the host. */
    @Test
    void accountsAreReadThroughALinkWithinTheHost() throws IOException {
        var real = Files.createDirectories(fake.hostRoot().resolve("store/etc")).resolve("users");
        Files.writeString(real, "alice:x:1003:1003:::\n");
        Files.createSymbolicLink(fake.hostRoot().resolve("etc/passwd"), Path.of("/store/etc/users"));
        assertThat(accounts())
                .isInstanceOfSatisfying(
                        Reading.Value.class,
                        value -> assertThat(value.value())
                                .extracting("content")
                                .isEqualTo(Bytes.of("alice:x:1003:1003:::\n".getBytes(StandardCharsets.US_ASCII))));
    }

    /** The image's accounts have other uids than those of the host. */
    @Test
    void neverUsesTheContainersAccountsInPlaceOfTheHosts() throws Exception {
        var file = fake.hostRoot().resolve("etc/passwd");
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.ABSENT);
        Fifo.at(file);
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.OTHER);
        Files.delete(file);
        Files.write(file, new byte[(4 << 20) + 1]);
        assertThat(accounts()).extracting("failure").isEqualTo(Failure.OTHER);
    }

    @Test
    void usesTheContainersAccountsIfTheHostsFilesAreOutOfReach(@TempDir Path noHost) {
        assertThat(new AccountFiles(new ProcFs(noHost)).read().passwd()).isInstanceOf(Reading.Value.class);
    }

    private Reading<TextFile> accounts() {
        return new AccountFiles(new ProcFs(fake.root())).read().passwd();
    }
}
