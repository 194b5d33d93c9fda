package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.node.NodeMachine.NodeName;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NodeNameTest {
    @TempDir
    private Path proc;

    @BeforeEach
    void writeHostNames() throws IOException {
        Files.createDirectories(proc.resolve("sys/kernel"));
        Files.writeString(proc.resolve("sys/kernel/hostname"), "ours\n");
        Files.createDirectories(proc.resolve("1/root/etc"));
        Files.writeString(proc.resolve("1/root/etc/hostname"), "gpu-1\n");
    }

    @Test
    void outsideContainersTheKernelsNameIsUsed() throws IOException {
        namespaces(1, 1);
        assertThat(NodeName.of(proc)).isEqualTo("ours");
    }

    @Test
    void inAContainerTheHostsNameIsUsed() throws IOException {
        namespaces(2, 1);
        assertThat(NodeName.of(proc)).isEqualTo("gpu-1");
    }

    @Test
    void linkIsFollowedWithinTheHost() throws IOException {
        namespaces(2, 1);
        Files.delete(proc.resolve("1/root/etc/hostname"));
        Files.writeString(proc.resolve("1/root/name"), "gpu-2\n");
        Files.createSymbolicLink(proc.resolve("1/root/etc/hostname"), Path.of("/name"));
        assertThat(NodeName.of(proc)).isEqualTo("gpu-2");
    }

    @Test
    void commentsAndBlankLinesAreSkipped() throws IOException {
        namespaces(2, 1);
        Files.writeString(proc.resolve("1/root/etc/hostname"), "# ours\n\n gpu-3 \nmore\n");
        assertThat(NodeName.of(proc)).isEqualTo("gpu-3");
    }

    @Test
    void localhostIsNotUsedAsName() throws IOException {
        namespaces(2, 1);
        Files.writeString(proc.resolve("1/root/etc/hostname"), "localhost.localdomain\n");
        assertThat(NodeName.of(proc)).isEqualTo("ours");
    }

    @Test
    void containersNameIsUsedWhenTheHostsIsUnreadable() throws IOException {
        assertThat(NodeName.of(proc)).isEqualTo("ours");
        namespaces(2, 1);
        Files.writeString(proc.resolve("1/root/etc/hostname"), "\n");
        assertThat(NodeName.of(proc)).isEqualTo("ours");
        Files.delete(proc.resolve("1/root/etc/hostname"));
        assertThat(NodeName.of(proc)).isEqualTo("ours");
    }

    private void namespaces(long ours, long first) throws IOException {
        for (var process : new String[] {"self", "1"}) {
            var folder = Files.createDirectories(proc.resolve(process).resolve("ns"));
            Files.createSymbolicLink(
                    folder.resolve("uts"), Path.of("uts:[%d]".formatted(process.equals("self") ? ours : first)));
        }
    }
}
