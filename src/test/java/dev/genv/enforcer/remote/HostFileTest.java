package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class HostFileTest {
    @TempDir
    Path directory;

    private final LogRecords log = LogRecords.of(HostFile.class.getName());
    private Path path;
    private Instant now;

    @AfterEach
    void releaseLog() {
        log.close();
    }

    @BeforeEach
    void writeHostFile() throws IOException {
        path = Files.writeString(directory.resolve("hosts"), "gpu-1\n");
        now = Instant.now().plus(Duration.ofHours(1));
    }

    @Test
    void fileThatBecomesUnusableIsReportedAndKeepsTheHosts() throws Exception {
        var file = file(path);
        Files.writeString(path, "# none\n");
        assertUnusable(file, "it names no host");
        Files.writeString(path, "gpu-2\n-x\n");
        assertUnusable(file, "line 2: \"-x\" is ");
        Files.delete(path);
        assertUnusable(file, path + ": there is no such file");
        Programs.fifo(path);
        assertUnusable(file, path + " is not a regular file");
        Files.delete(path);
        Files.writeString(path, "gpu-2\n");
        assertThat(file.current()).hasToString("[gpu-2]");
        assertThat(log.lines()).hasSize(5).last().isEqualTo("The host file can be used again");
    }

    private void assertUnusable(HostFile file, String why) {
        for (var i = 0; i < 2; i++) {
            assertThat(file.current()).hasToString("[gpu-1]");
            assertThat(log.lines())
                    .last()
                    .asString()
                    .startsWith(path + " cannot be used, and the list of machines stays as it was: " + why);
        }
    }

    @Test
    void ignoresFileModifiedLessThanTwoSecondsAgo() throws Exception {
        var file = file(path);
        write("gpu-1\ngpu-2", Duration.ofMillis(1_999));
        assertThat(file.current()).hasToString("[gpu-1]");
        write("-", Duration.ZERO);
        assertThat(file.current()).hasToString("[gpu-1]");

        write("gpu-1\ngpu-23\n", Duration.ofSeconds(2));
        assertThat(file.current()).hasToString("[gpu-1, gpu-23]");
        assertThat(log.lines()).isEmpty();
    }

    @Test
    void invalidFileStaysReportedWhileItIsRewritten() throws Exception {
        var file = file(path);
        write("-", Duration.ofSeconds(2));
        assertThat(file.current()).hasToString("[gpu-1]");
        write("gpu-", Duration.ZERO);
        assertThat(file.current()).hasToString("[gpu-1]");
        assertThat(log.lines()).as("of what was read last").hasSize(1);
    }

    @Test
    void readsFileWithModificationTimeInTheFuture() throws Exception {
        var file = file(path);
        write("gpu-2\n", Duration.ofHours(-1));

        assertThat(file.current()).hasToString("[gpu-2]");
    }

    @Test
    void acceptsFileWithoutHostsAtTheStart() throws Exception {
        Files.writeString(path, "");
        var file = file(path);
        assertThat(file.current()).isEmpty();
        assertThat(log.lines()).isEmpty();

        Files.writeString(path, "gpu-2\n");
        assertThat(file.current()).hasToString("[gpu-2]");
    }

    @Test
    void startFailsWhenTheFileIsMissingOrInvalid() throws Exception {
        assertThatThrownBy(() -> new HostFile(directory.resolve("nowhere")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(directory + "/nowhere: there is no such file");
        Files.write(path, new byte[] {'g', (byte) 0xFF, '\n'});
        assertThatThrownBy(() -> new HostFile(path))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 1: ");
    }

    private HostFile file(Path place) {
        return new HostFile(place, () -> now);
    }

    private void write(String text, Duration ago) throws IOException {
        Files.writeString(path, text);
        Files.setLastModifiedTime(path, FileTime.from(now.minus(ago)));
    }

    // The addresses in it.

    private static final String EXPECTED = "; expected [user@]host[:port], such as raz@gpu-2:2222 or [::1]:22";

    @ParameterizedTest
    @CsvSource({
        "gpu-1, , gpu-1, , gpu-1",
        "raz@gpu-2:2222, raz, gpu-2, 2222, gpu-2:2222",
        "gpu-2:22, , gpu-2, 22, gpu-2:22",
        "[::1]:22, , ::1, 22, [::1]:22",
        "raz@[::1], raz, ::1, , [::1]",
        "[fe80::1%eth0]:65535, , fe80::1%eth0, 65535, [fe80::1%eth0]:65535",
        "[::ffff:127.0.0.1], , ::ffff:127.0.0.1, , [::ffff:127.0.0.1]",
        "127.0.0.2:1, , 127.0.0.2, 1, 127.0.0.2:1",
        "raz@corp.example@gpu-1.example.org, raz@corp.example, gpu-1.example.org, , gpu-1.example.org",
        "CORP\\raz@gpu_1, CORP\\raz, gpu_1, , gpu_1",
    })
    void readsUserHostAndPort(String text, String user, String host, Integer port, String name) {
        assertThat(HostAddress.parse(text))
                .isEqualTo(new HostAddress(user, host, port))
                .hasToString(name);
    }

    static Stream<String> invalidAddresses() {
        return Stream.concat(
                Stream.of("", " ", "gpu 1", "gpu-1 ", "gpu\n1", "gpu-1:2 2", "ra z@gpu-1", "a".repeat(256)),
                Stream.of(("@ raz@ @gpu-1 :22 gpu-1: gpu-1:0 gpu-1:65536 gpu-1:+22 gpu-1:ssh gpu-1:999999 gpu-1:22:22"
                                + " ::1 [::1 [] []:22 [gpu-1] [::1]22 [::1]: [::1%] -oProxyCommand=id"
                                + " raz@-oProxyCommand=id -raz@gpu-1 gpu-1;id $(id) gpu/1 gpü-1 gpu-1\u0000"
                                + " raz\u001b[2J@gpu-1 [1] [:::g] ssh://gpu-1")
                        .split(" ")));
    }

    @ParameterizedTest
    @MethodSource("invalidAddresses")
    void refusesInvalidAddressAndNamesTheFormat(String text) {
        assertThatThrownBy(() -> HostAddress.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith(EXPECTED);
    }

    @Test
    void listsHaveEachHostOnceAndNameTheInvalidOnes() {
        assertThat(HostAddress.parse("a".repeat(255)).host()).hasSize(255);
        assertThat(HostAddress.parseList(" gpu-1, raz@gpu-2:2222 ,[::1]:22,, "))
                .hasToString("[gpu-1, gpu-2:2222, [::1]:22]");
        assertThat(HostAddress.parseList(" ")).isEmpty();
        var hosts = HostAddress.parseList("raz@gpu-1,gpu-2,root@GPU-1,gpu-1:22,gpu-2");
        assertThat(hosts).hasToString("[gpu-1, gpu-2, gpu-1:22]");
        assertThat(hosts.getFirst().user()).isEqualTo("raz");
        assertThatThrownBy(() -> HostAddress.parseList("gpu-1,gpu\u001b2,gpu-3"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"gpu\\u001b2\" is not the name of a host" + EXPECTED);
    }

    @Test
    void readsOneHostPerLine() {
        assertThat(HostAddress.parseLines("# all of them\n\n gpu-1 # the old one\r\nraz@gpu-2#new\n#gpu-3\ngpu-1"))
                .isEqualTo(List.of(HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2")));
        assertThat(HostAddress.parseLines("")).isEmpty();
    }

    @Test
    void namesTheInvalidLinesUpToANumberAndLength() {
        assertThatThrownBy(() -> HostAddress.parseLines("gpu-1\ngpu-2,gpu-3\n\n-x\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 2: \"gpu-2,gpu-3\" is not the name of a host; expected ")
                .hasMessageContaining("; line 4: \"-x\" is not the name of a host; expected ");
        assertThatThrownBy(() -> HostAddress.parseLines("-\n".repeat(1_000)))
                .hasMessageContaining("line 5: ")
                .message()
                .doesNotContain("line 6: ")
                .hasSizeLessThan(1_000);
        assertThatThrownBy(() -> HostAddress.parseLines("x y".repeat(100_000)))
                .hasMessageMatching("line 1: \".{81}\" is .*");
    }
}
