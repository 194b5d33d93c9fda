package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FileTreeTest {
    private final Path root;
    private final FileTree files;

    FileTreeTest(@TempDir Path folder) throws IOException {
        root = folder.resolve("host");
        files = new FileTree(root);
        Files.createDirectories(root.resolve("ours/bin"));
        Files.writeString(root.resolve("ours/bin/server"), "");
        Files.writeString(folder.resolve("outside"), "");
        link("bin", "ours/bin");
        link("absolute", "/ours/bin");
        link("ours/up", "../../../../outside");
        link("two", "/absolute/../bin/./server");
    }

    @ParameterizedTest
    @CsvSource({
        "/ours/bin/server,ours/bin/server",
        "/bin/server,ours/bin/server",
        "/absolute/server,ours/bin/server",
        "/two,ours/bin/server",
        "/ours/up,outside",
        "/../../ours/./bin,ours/bin",
        "/none/such,none/such",
        "/,''"
    })
    void resolvesLinksWithinTheTree(String path, String place) throws IOException {
        assertThat(files.follow(Path.of(path), FileTree.Inspection.NONE))
                .isEqualTo(root.resolve(place).normalize());
    }

    @Test
    void refusesLinkLoop() throws IOException {
        link("loop", "/loop");
        assertThatThrownBy(() -> files.follow(Path.of("/loop"), FileTree.Inspection.NONE))
                .isInstanceOf(FileSystemException.class)
                .hasMessageContaining("Too many levels of symbolic links");
    }

    private void link(String name, String target) throws IOException {
        Files.createSymbolicLink(root.resolve(name), Path.of(target));
    }
}
