package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class StateReaderTest {
    private final Path path;
    private final StateReader reader;
    private final StateParser parser;

    StateReaderTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        parser = new StateParser(path.toString());
        reader = StateReaders.of(path, HANG, new ProcFs(Path.of("/proc")));
    }

    @Test
    void readsBothFiles() throws Exception {
        new StateFiles(path)
                .env("1", 1000, "alice", null, 40)
                .device(0, "1")
                .device(1)
                .write();
        var state = read();
        assertThat(envs(state).environments()).extracting(Environment::eid).containsExactly("1");
        assertThat(devices(state).devices()).extracting(Device::index).containsExactly(0, 1);
    }

    @Test
    void missingDirectoryIsAbsentState() throws Exception {
        Files.delete(path);
        assertThat(read()).isEqualTo(State.ABSENT);
        assertThat(path).doesNotExist();
    }

    @Test
    void emptyDirectoryIsAbsentStateAndStaysEmpty() throws Exception {
        var state = read();
        assertThat(state).isEqualTo(State.ABSENT.withLockWait(state.lockWait()));
        assertThat(path).isEmptyDirectory();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "                        | envs.json is empty",
                "{                       | envs.json is not JSON",
                "{'envs': 7}             | envs.json has no \"envs\"",
            })
    void unreadableFileDoesNotAffectTheOther(String content, String why) throws Exception {
        new StateFiles(path).device(0).write();
        Files.writeString(path.resolve("envs.json"), content == null ? "" : content.replace('\'', '"'));
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, why);
        assertThat(devices(read()).devices()).hasSize(1);
    }

    /** Hostile but perfectly valid JSON, and what only looks like it. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "null",
                "[]",
                "7",
                "\"envs\"",
                "{}",
                "{\"envs\": null}",
                "{\"envs\": \"x\"}",
                "{\"envs\": []} x",
                "{\"envs\": []}{}",
                "{'envs': []}",
                "{\"envs\": [NaN]}",
                "\u0000",
                "\ufeff{\"envs\": []}",
            })
    void unknownFormatIsUnreadable(String content) throws Exception {
        new StateFiles(path).device(0).write();
        Files.writeString(path.resolve("envs.json"), content);
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "envs.json");
        assertThat(devices(read()).devices()).hasSize(1);
    }

    @Test
    void tooDeepTooLargeOrNonUtf8FileIsUnreadable() throws Exception {
        new StateFiles(path).device(0).write();
        var latin = "{\"envs\": [{\"eid\": \"\u00fc\"}]}".getBytes(ISO_8859_1);
        for (var bytes : List.of(
                ("{\"envs\": " + "[".repeat(100_000)).getBytes(US_ASCII),
                ("{\"envs\": " + "[".repeat(1000) + "]".repeat(1000) + "}").getBytes(US_ASCII),
                ("{\"envs\": [" + "7,".repeat(2_000_000) + "7]}").getBytes(US_ASCII),
                ("{\"envs\": [" + "9".repeat(100_000) + "]}").getBytes(US_ASCII),
                new byte[17 << 20],
                latin)) {
            Files.write(path.resolve("envs.json"), bytes);
            assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "envs.json");
        }
        new StateFiles(path).env("1", 1, null, null).writeEnvs();
        assertThat(envs(read()).environments()).hasSize(1);
    }

    @Test
    void linkToASystemFileIsNotRead() throws Exception {
        new StateFiles(path).device(0).writeDevices();
        for (var target : List.of("/etc/passwd", "/proc/self/environ", "/proc/self/fd/0", "/dev/zero", "/absent")) {
            Files.createSymbolicLink(path.resolve("envs.json"), Path.of(target));
            assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, "is a symbolic link");
            Files.delete(path.resolve("envs.json"));
        }
    }

    @Test
    void linkedFileIsNotRead() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        var elsewhere = Files.move(path.resolve("devices.json"), path.resolveSibling("elsewhere"));
        Files.createSymbolicLink(path.resolve("devices.json"), elsewhere);
        assertUnreadable(read().devices(), ProblemCode.STATE_UNREADABLE, "devices.json");
        assertThat(envs(read()).environments()).hasSize(1);
    }

    private State read() throws InterruptedException {
        return read(reader);
    }

    private State read(StateReader from) throws InterruptedException {
        return parser.parse(null, from.read(Duration.ZERO));
    }

    private static EnvsFile envs(State state) {
        assertThat(state.envs()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<EnvsFile>) state.envs()).content();
    }

    private static DevicesFile devices(State state) {
        assertThat(state.devices()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<DevicesFile>) state.devices()).content();
    }

    private static void assertUnreadable(State.File<?> file, ProblemCode code, String why) {
        assertThat(file).isInstanceOfSatisfying(State.File.Unreadable.class, unreadable -> {
            assertThat(unreadable.problem().code()).isEqualTo(code);
            assertThat(unreadable.problem().detail()).contains(why);
        });
    }
}
