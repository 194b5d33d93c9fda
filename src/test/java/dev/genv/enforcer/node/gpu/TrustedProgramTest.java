package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.node.gpu.NvidiaSmi.ChildProcess.TrustedProgram;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Modes are octal numbers here, as chmod takes them. */
class TrustedProgramTest {
    private final Path folder;

    TrustedProgramTest(@TempDir Path folder) {
        this.folder = folder;
    }

    @Test
    void reportsTheProgramThatWasNotFound() throws IOException {
        assertThatThrownBy(() -> TrustedProgram.find("no-such-program"))
                .isInstanceOf(ToolException.class)
                .hasMessageStartingWith("no-such-program is not in any of /");
        assertRefused(folder.resolve("absent"), "is not a program");
        assertRefused(folder, "is not a program");
        assertRefused(program("bin", "755", "644"), "is not a program");
        var loop = folder.resolve("loop");
        assertRefused(Files.createSymbolicLink(loop, loop), "is not a program");
    }

    @ParameterizedTest
    @CsvSource({"775, 755", "757, 755", "777, 755", "1777, 755", "755, 775", "755, 757", "755, 777"})
    void refusesProgramThatOthersCanReplace(String folderMode, String programMode) throws IOException {
        assertRefused(program("bin", folderMode, programMode), "others can write");
    }

    @Test
    void refusesAParentFolderThatOthersCanWriteUnlessItIsSticky() throws Exception {
        var program = program("tmp/bin", "755", "755");
        chmod(folder.resolve("tmp"), "1777");
        assertThat(TrustedProgram.find(program.toString())).isEqualTo(program);
        for (var mode : List.of("775", "777")) {
            chmod(folder.resolve("tmp"), mode);
            assertRefused(program, "others can write");
        }
    }

    @Test
    void acceptsLinkToATrustedProgram() throws Exception {
        var program = program("opt/driver", "755", "755");
        var link = Files.createSymbolicLink(folderOf("bin", "755").resolve("nvidia-smi"), program);
        assertThat(TrustedProgram.find(link.toString())).isEqualTo(link);
    }

    @Test
    void refusesLinkToAProgramThatOthersCanReplace() throws IOException {
        var bin = folderOf("bin", "755");
        assertRefused(Files.createSymbolicLink(bin.resolve("a"), program("x", "755", "777")), "others can write");
        assertRefused(Files.createSymbolicLink(bin.resolve("b"), program("y", "777", "755")), "others can write");
    }

    @Test
    void refusesALinkThatOthersCanReplace() throws IOException {
        var program = program("opt", "755", "755");
        assertRefused(Files.createSymbolicLink(folderOf("bin", "777").resolve("a"), program), "others can write");
    }

    @Test
    void refusesLinkThroughAFolderThatOthersCanWrite() throws IOException {
        var middle = Files.createSymbolicLink(folderOf("any", "777").resolve("b"), program("opt", "755", "755"));
        assertRefused(Files.createSymbolicLink(folderOf("bin", "755").resolve("a"), middle), "others can write");
        var linkedFolder = Files.createSymbolicLink(folder.resolve("any/opt"), folder.resolve("opt"));
        var link = Files.createSymbolicLink(folder.resolve("bin/folder"), linkedFolder);
        assertRefused(link.resolve("nvidia-smi"), "others can write");
    }

    @Test
    void refusesProgramOfAnotherUser() throws IOException {
        Requirements.root();
        var program = program("bin", "755", "755");
        Files.setAttribute(program, "unix:uid", 65534);
        assertRefused(program, "belongs to user 65534");
        Files.setAttribute(program, "unix:uid", 0);
        Files.setAttribute(folder.resolve("bin"), "unix:uid", 65534);
        assertRefused(program, "belongs to user 65534");
    }

    private static void assertRefused(Path program, String why) {
        assertThatThrownBy(() -> TrustedProgram.find(program.toString()))
                .isInstanceOf(ToolException.class)
                .hasMessageContainingAll(program.toString(), why);
    }

    private Path program(String where, String folderMode, String mode) throws IOException {
        var program = Files.writeString(folderOf(where, "755").resolve("nvidia-smi"), "#!/bin/sh\n");
        chmod(program, mode);
        chmod(folder.resolve(where), folderMode);
        return program;
    }

    private Path folderOf(String where, String mode) throws IOException {
        var made = folder;
        for (var name : Path.of(where)) {
            made = made.resolve(name);
            Files.createDirectories(made);
            chmod(made, "755");
        }
        chmod(made, mode);
        return made;
    }

    private static void chmod(Path file, String mode) throws IOException {
        Files.setAttribute(file, "unix:mode", Integer.parseInt(mode, 8));
    }
}
