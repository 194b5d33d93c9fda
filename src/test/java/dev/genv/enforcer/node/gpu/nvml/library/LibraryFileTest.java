package dev.genv.enforcer.node.gpu.nvml.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Only a library that root installed is loaded. */
class LibraryFileTest {
    private static final String NAME = "libnvidia-ml.so.1";
    private static final int E_CLASS = 4;
    private static final int E_TYPE = 16;
    private static final int E_MACHINE = 18;

    @TempDir
    private Path folder;

    @Test
    void findsTheFirstLibraryOfTheFolders() throws Exception {
        var first = new FakeNvml(folder.resolve("a")).path();
        var second = new FakeNvml(folder.resolve("b")).path();
        assertThat(LibraryFile.of(NAME, folder + "/absent:" + folder + "/a:" + folder + "/b")
                        .find())
                .isEqualTo(first);
        assertThat(LibraryFile.of(NAME, folder + "/b;" + folder + "/a").find()).isEqualTo(second);
    }

    @Test
    void searchesTheUsualFoldersAfterThoseOfLdLibraryPath() {
        assertThat(LibraryFile.of(NAME, "/x/y::relative").folders())
                .startsWith(Path.of("/x/y"), Path.of("/usr/lib/" + ElfHeader.MULTIARCH))
                .contains(Path.of("/usr/lib64"))
                .allMatch(Path::isAbsolute);
    }

    @Test
    void followsLinks() throws Exception {
        var library = new FakeNvml(folder.resolve("lib")).path();
        var real = Files.move(library, library.resolveSibling("libnvidia-ml.so.550.54.15"));
        Files.createSymbolicLink(library, real.getFileName());
        assertThat(LibraryFile.of(library.toString(), "").find()).isEqualTo(real);
    }

    @Test
    void reportsTheLibraryThatWasNotFound() {
        assertRefused(
                new LibraryFile(NAME, List.of(folder)), "libnvidia-ml.so.1 is not in any of the folders of libraries");
        assertRefused(folder.resolve("absent"), "absent does not exist");
        assertRefused(folder, " is not a file");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "#!/bin/sh\necho a script with some text\n", "/* GNU ld script */ GROUP ( libx.so )"})
    void refusesAFileThatIsNoLibrary(String content) throws IOException {
        assertRefused(Files.writeString(folder.resolve("lib.so"), content), " is not a library");
    }

    @ParameterizedTest
    @CsvSource({
        E_CLASS + ", 1, is a library for another architecture",
        E_MACHINE + ", 3, is a library for another architecture",
        E_MACHINE + ", 21, is a library for another architecture",
        E_TYPE + ", 1, is not a library"
    })
    void refusesALibraryOfAnotherArchitecture(int at, byte value, String why) throws IOException {
        assertRefused(changed(folder.resolve("lib"), at, value), why);
    }

    @Test
    void skipsTheFolderOfAnotherArchitecture() throws Exception {
        changed(folder.resolve("32"), E_CLASS, (byte) 1);
        var library = new FakeNvml(folder.resolve("64")).path();
        var folders = List.of(folder.resolve("32"), folder.resolve("64"));
        assertThat(new LibraryFile(NAME, folders).find()).isEqualTo(library);
        assertRefused(new LibraryFile(NAME, folders.subList(0, 1)), "is a library for another architecture");
    }

    @Test
    void refusesALibraryThatOthersCanWrite() throws IOException {
        var library = new FakeNvml(folder.resolve("lib")).path();
        chmod(library, "757");
        assertRefused(library, "is not loaded: others can write " + library);
        chmod(library, "755");
        chmod(folder.resolve("lib"), "1777");
        assertRefused(library, "is not loaded: others can write " + folder.resolve("lib"));
    }

    @Test
    void refusesALibraryOfAnotherUser() throws IOException {
        Requirements.root();
        var library = new FakeNvml(folder.resolve("lib")).path();
        Files.setAttribute(library, "unix:uid", 65534);
        assertRefused(library, "belongs to user 65534");
    }

    @Test
    void refusesALinkToALibraryThatOthersCanWrite() throws IOException {
        var library = new FakeNvml(folder.resolve("lib")).path();
        chmod(folder.resolve("lib"), "777");
        var link = Files.createSymbolicLink(folder.resolve(NAME), library);
        assertRefused(link, "others can write " + folder.resolve("lib"));
    }

    /** A constructor would run when the library is loaded, before any function could be missed. */
    @Test
    void aRefusedLibraryIsNotLoaded() throws Exception {
        Requirements.program("/usr/bin/gcc", "gcc libc6-dev");
        var trace = folder.resolve("constructed");
        var library = compile("""
                #include <fcntl.h>
                __attribute__((constructor)) static void run(void) { creat("%s", 0600); }
                """.formatted(trace));
        chmod(library, "757");
        assertThat(reasonOf(library)).contains("others can write");
        assertThat(trace).doesNotExist();
        chmod(library, "755");
        assertThat(reasonOf(library)).endsWith("is not NVML, or too old: it has no function nvmlInit_v2");
        assertThat(trace).exists();
    }

    @Test
    void reportsALibraryThatNeedsAnotherOne() throws Exception {
        Requirements.program("/usr/bin/gcc", "gcc libc6-dev");
        var library = compile("int missing(void); int f(void) { return missing(); }", "-Wl,-z,now");
        assertThat(reasonOf(library))
                .isEqualTo("%1$s cannot be loaded; the output of 'ldd %1$s' can show why".formatted(library));
    }

    private Path compile(String code, String... options) throws Exception {
        var source = Files.writeString(folder.resolve("library.c"), code);
        var library = folder.resolve("library.so");
        var command = new ArrayList<>(List.of("/usr/bin/gcc", "-shared", "-fPIC", "-o", library.toString()));
        command.addAll(List.of(options));
        command.add(source.toString());
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
        return library;
    }

    /** Returns why a library is not loaded. */
    private static String reasonOf(Path library) {
        try {
            NvmlLibrary.load(LibraryFile.of(library.toString(), "").find(), new Activity())
                    .close();
            return "it was loaded";
        } catch (NvmlException e) {
            assertThat(e.facts().cause()).isEqualTo(Cause.LIBRARY);
            return e.facts().reason();
        }
    }

    private static Path changed(Path folder, int at, byte value) throws IOException {
        var library = new FakeNvml(folder).path();
        var bytes = Files.readAllBytes(library);
        bytes[at] = value;
        return Files.write(library, bytes);
    }

    private static void assertRefused(Path library, String why) {
        assertRefused(LibraryFile.of(library.toString(), ""), why);
    }

    private static void assertRefused(LibraryFile library, String why) {
        assertThatThrownBy(library::find).isInstanceOf(NvmlException.class).hasMessageContaining(why);
    }

    private static void chmod(Path file, String mode) throws IOException {
        Files.setAttribute(file, "unix:mode", Integer.parseInt(mode, 8));
    }
}
