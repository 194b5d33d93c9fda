package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ErrnoTextTest {
    @Test
    void errorsOfJavaAndOfTheKernelHaveTheSameText(@TempDir Path folder) throws IOException {
        var file = Files.createFile(folder.resolve("file"));
        for (var path : new Path[] {folder.resolve("none"), file.resolve("below")}) {
            assertThat(textOf(() -> Files.newInputStream(path).close()))
                    .isEqualTo(textOf(() -> FileCalls.close(FileCalls.open(path))));
        }
        assertThat(Errno.textOf(new AccessDeniedException("/x"))).isEqualTo("Permission denied");
        assertThat(Errno.textOf(new Errno("openat", Errno.EACCES))).isEqualTo("Permission denied");
    }

    /** The numbers of errors that a loaded machine and a file server return. */
    @ParameterizedTest
    @CsvSource({
        "8, Exec format error",
        "12, Cannot allocate memory",
        "23, Too many open files in system",
        "24, Too many open files",
        "110, Connection timed out",
        "116, Stale file handle",
    })
    void textIsThatOfTheKernel(int number, String text) {
        assertThat(Errno.textOf(new Errno("openat", number))).isEqualTo(text);
    }

    @Test
    void pathIsNoPartOfTheText() {
        assertThat(Errno.textOf(new NoSuchFileException("/x"))).isEqualTo("No such file or directory");
        assertThat(Errno.textOf(new FileSystemException("/x", null, "Is a directory")))
                .isEqualTo("Is a directory");
        assertThat(Errno.textOf(new NotDirectoryException("/x"))).isEqualTo("Not a directory");
    }

    @Test
    void otherErrorsHaveTheirMessage() {
        assertThat(Errno.textOf(new IOException("it ends too early"))).isEqualTo("it ends too early");
        assertThat(Errno.textOf(new Errno("openat", 4711))).isEqualTo("Unknown error 4711");
    }

    private interface Call {
        void run() throws IOException;
    }

    private static String textOf(Call call) {
        try {
            call.run();
            return "no error";
        } catch (IOException e) {
            return Errno.textOf(e);
        }
    }
}
