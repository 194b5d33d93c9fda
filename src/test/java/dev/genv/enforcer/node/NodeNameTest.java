package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.node.NodeMachine.NodeName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodeNameTest {
    @TempDir
    private Path proc;

    @BeforeEach
    void writeHostNames() throws IOException {
        Files.createDirectories(proc.resolve("sys/kernel"));
        Files.writeString(proc.resolve("sys/kernel/hostname"), "ours\n");
        Files.createDirectories(proc.resolve("1/root/etc"));
        Files.writeString(hostsFile(), "gpu-1\n");
    }

    @Test
    void outsideContainersTheKernelsNameIsUsed() throws IOException {
        namespaces(1, 1);
        assertThat(NodeName.of(proc)).isEqualTo("ours");
    }

    /** Here {@code |} means a line break. */
    @ParameterizedTest
    @CsvSource({"# ours|| gpu-3 |more|, gpu-3", "localhost.localdomain|, ours"})
    void inAContainerTheFirstNameInTheHostsFileIsUsed(String content, String name) throws IOException {
        namespaces(2, 1);
        Files.writeString(hostsFile(), content.replace('|', '\n'));
        assertThat(NodeName.of(proc)).isEqualTo(name);
    }

    @Test
    void containersNameIsUsedWhenTheHostsIsUnreadable() throws IOException {
        assertThat(NodeName.of(proc)).isEqualTo("ours");
        namespaces(2, 1);
        Files.delete(hostsFile());
        assertThat(NodeName.of(proc)).isEqualTo("ours");
    }

    private Path hostsFile() {
        return proc.resolve("1/root/etc/hostname");
    }

    private void namespaces(long ours, long first) throws IOException {
        for (var process : new String[] {"self", "1"}) {
            var folder = Files.createDirectories(proc.resolve(process).resolve("ns"));
            Files.createSymbolicLink(
                    folder.resolve("uts"), Path.of("uts:[%d]".formatted(process.equals("self") ? ours : first)));
        }
    }
}
