package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reading of files that others may replace. */
class FilesTest {
    private static final String INVALID = "invalid";

    private final Path folder;
    private final Path path;
    private final WatchedFile<String> file;

    FilesTest(@TempDir Path folder) {
        this.folder = folder;
        path = folder.resolve("token");
        file = new WatchedFile<>(path, 10, FilesTest::parse);
    }

    private static String parse(byte[] bytes) throws IOException {
        var text = new String(bytes, StandardCharsets.UTF_8);
        if (text.equals(INVALID)) {
            throw new IOException("it is invalid");
        }
        return text;
    }

    @Test
    void refusesAFileAboveTheMaximumSize() throws IOException {
        Files.writeString(path, "x".repeat(10));
        assertThat(file.current()).hasSize(10);
        Files.writeString(path, "x".repeat(11));
        assertThatThrownBy(file::current).hasMessage("%s: it is longer than 10 bytes", path);
    }

    @Test
    void watchingContinuesAfterADefect() {
        var readings = new AtomicInteger();
        try (var log = LogRecords.of(WatchedFile.class.getName())) {
            WatchedFile.watch("test-files", Duration.ofMillis(1), () -> {
                if (readings.incrementAndGet() == 1) {
                    throw new IllegalStateException("a defect");
                }
                Thread.currentThread().interrupt(); // ends the watching
            });
            await().until(() -> readings.get() == 2);
            assertThat(log.lines()).containsExactly("The thread test-files failed to read its files; it continues");
        }
    }

    /** Users can set the modification time, and not the change time. */
    @Test
    void detectsAChangeWhoseModificationTimeIsSetBack() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.current()).isEqualTo("one");
        var modified = Files.getLastModifiedTime(path);
        var changed = Files.getAttribute(path, "unix:ctime");
        await().until(() -> {
            Files.writeString(path, "two");
            Files.setLastModifiedTime(path, modified);
            return !Files.getAttribute(path, "unix:ctime").equals(changed);
        });
        assertThat(file.current()).isEqualTo("two");
    }

    @Test
    void rereadsTheFileAfterEveryChange() throws IOException {
        Files.writeString(path, "one");
        assertThat(file.current()).isEqualTo("one");

        Files.writeString(path, "three");
        assertThat(file.current()).isEqualTo("three");

        var modified = Files.getLastModifiedTime(path);
        var other = Files.writeString(path.resolveSibling("other"), "seven");
        Files.setLastModifiedTime(other, modified);
        Files.move(other, path, StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.current()).as("of the same size and time").isEqualTo("seven");

        Files.writeString(path, INVALID);
        assertThatThrownBy(file::current).isInstanceOf(IOException.class);
        assertThatThrownBy(file::current).as("also the second time").isInstanceOf(IOException.class);
        Files.delete(path);
        assertThatThrownBy(file::current).isInstanceOf(IOException.class);
        Files.writeString(path, "again");
        assertThat(file.current()).isEqualTo("again");
    }

    /** Kubernetes puts a new folder beside the old one and replaces a link to it. */
    @Test
    void rereadsARenewedKubernetesSecret() throws IOException {
        for (var version : new String[] {"old", "new"}) {
            Files.writeString(Files.createDirectory(folder.resolve(version)).resolve("token"), "the-" + version);
        }
        Files.setLastModifiedTime(folder.resolve("new/token"), Files.getLastModifiedTime(folder.resolve("old/token")));
        Files.createSymbolicLink(folder.resolve("..data"), Path.of("old"));
        Files.createSymbolicLink(path, Path.of("..data/token"));
        assertThat(file.current()).isEqualTo("the-old");

        Files.createSymbolicLink(folder.resolve("..tmp"), Path.of("new"));
        Files.move(folder.resolve("..tmp"), folder.resolve("..data"), StandardCopyOption.ATOMIC_MOVE);
        assertThat(file.current()).isEqualTo("the-new");
    }

    @Test
    void readsTheOpenFileUpToTheLimitAfterItsPathWasReplaced() throws IOException {
        var path = Files.writeString(folder.resolve("file"), "one");
        try (var file = Descriptor.openRegular(path)) {
            Files.delete(path);
            Files.createDirectory(path);
            assertThat(file.read(2)).asString().isEqualTo("on");
            assertThat(file.status().size()).isEqualTo(3);
        }
    }

    @Test
    void refusesADirectoryAndAPipe() throws Exception {
        assertThatThrownBy(() -> Descriptor.openRegular(folder)).hasMessageEndingWith("is not a regular file");
        var fifo = Programs.fifo(folder.resolve("fifo"));
        assertThatThrownBy(() -> Descriptor.openRegular(fifo)).hasMessageEndingWith("is not a regular file");
        assertThatThrownBy(() -> Descriptor.openRegular(folder.resolve("none")))
                .isInstanceOf(NoSuchFileException.class);
    }

    /** Such a file can replace a regular file after its type was checked. */
    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void openingAPipeDoesNotWaitForAWriter() throws Exception {
        var fifo = Programs.fifo(folder.resolve("fifo"));
        FileCalls.close(FileCalls.open(fifo));
        assertThatThrownBy(() -> FileCalls.open(folder.resolve("none"))).isInstanceOf(Errno.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 8192, 8193, 100_000})
    void readsAKernelFileOfEverySizeUpToTheLimit(int size) throws IOException {
        var content = new byte[size];
        new Random(size).nextBytes(content);
        Files.write(folder.resolve("ü file"), content);
        assertThat(Descriptor.readKernelFile(folder.resolve("ü file").toString(), 2_000_000))
                .isEqualTo(content);
        assertThat(Descriptor.readKernelFile(folder.resolve("ü file").toString(), size))
                .isEqualTo(content);
        assertThat(Descriptor.readKernelFile(folder.resolve("ü file").toString(), size / 2))
                .isEqualTo(Arrays.copyOf(content, size / 2));
    }

    private Path root() {
        return folder.resolve("host");
    }

    private FileTree tree() throws IOException {
        Files.createDirectories(root().resolve("ours/bin"));
        Files.writeString(root().resolve("ours/bin/server"), "");
        Files.writeString(folder.resolve("outside"), "");
        link("bin", "ours/bin");
        link("absolute", "/ours/bin");
        link("ours/up", "../../../../outside");
        link("two", "/absolute/../bin/./server");
        link("loop", "/loop");
        return new FileTree(root());
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
        var tree = tree();
        for (var files : List.of(tree, tree.forOneObservation())) {
            for (var time = 0; time < 2; time++) {
                assertThat(files.follow(Path.of(path), FileTree.Inspection.NONE))
                        .isEqualTo(root().resolve(place).normalize());
            }
        }
    }

    @Test
    void examinesFoldersOnceInAnObservation() throws IOException {
        var tree = tree();
        var file = Path.of("/ours/bin/server");
        var first = tree.forOneObservation();
        assertThat(first.follow(file, FileTree.Inspection.NONE)).isEqualTo(root().resolve("ours/bin/server"));
        Files.move(root().resolve("ours"), root().resolve("moved"));
        link("ours", "moved");
        assertThat(first.follow(file, FileTree.Inspection.NONE)).isEqualTo(root().resolve("ours/bin/server"));
        for (var files : List.of(tree, tree.forOneObservation())) {
            assertThat(files.follow(file, FileTree.Inspection.NONE)).isEqualTo(root().resolve("moved/bin/server"));
        }
        // The file itself is examined every time.
        Files.delete(root().resolve("moved/bin/server"));
        link("moved/bin/server", "/elsewhere");
        assertThat(first.follow(file, FileTree.Inspection.NONE)).isEqualTo(root().resolve("elsewhere"));
    }

    @Test
    void refusesLinkLoop() throws IOException {
        var files = tree();
        assertThatThrownBy(() -> files.follow(Path.of("/loop"), FileTree.Inspection.NONE))
                .isInstanceOf(FileSystemException.class)
                .hasMessageContaining("Too many levels of symbolic links");
    }

    private void link(String name, String target) throws IOException {
        Files.createSymbolicLink(root().resolve(name), Path.of(target));
    }
}
