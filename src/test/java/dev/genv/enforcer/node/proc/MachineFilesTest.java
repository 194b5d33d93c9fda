package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
}
