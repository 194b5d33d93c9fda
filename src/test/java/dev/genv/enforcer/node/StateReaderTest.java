package dev.genv.enforcer.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.format.DevicesFile;
import dev.genv.enforcer.format.EnvsFile;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class StateReaderTest {
    private final Path path;
    private final StateReader reader;

    StateReaderTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        reader = new StateReader(path, Duration.ofMillis(200));
    }

    @Test
    void readsBothFiles() throws Exception {
        new StateFiles(path)
                .env("1", 1000, "alice", null, 40)
                .device(0, "1")
                .device(1)
                .write();
        var state = reader.read();
        assertThat(envs(state).environments()).extracting(Environment::eid).containsExactly("1");
        assertThat(devices(state).devices()).extracting(Device::index).containsExactly(0, 1);
    }

    @Test
    void aDirectoryThatIsNotThereIsAFreshMachine() throws Exception {
        Files.delete(path);
        assertThat(reader.read()).isEqualTo(State.ABSENT);
        assertThat(path).doesNotExist();
    }

    @Test
    void anEmptyDirectoryIsAFreshMachineAndStaysEmpty() throws Exception {
        assertThat(reader.read()).isEqualTo(State.ABSENT);
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
    void aFileThatCannotBeReadCostsItselfOnly(String content, String why) throws Exception {
        new StateFiles(path).device(0).write();
        Files.writeString(path.resolve("envs.json"), content == null ? "" : content.replace('\'', '"'));
        assertUnreadable(reader.read().envs(), "state_unreadable", why);
        assertThat(devices(reader.read()).devices()).hasSize(1);
    }

    @Test
    void aFileThatIsALinkIsNotRead() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        var elsewhere = Files.move(path.resolve("devices.json"), path.resolveSibling("elsewhere"));
        Files.createSymbolicLink(path.resolve("devices.json"), elsewhere);
        assertUnreadable(reader.read().devices(), "state_unreadable", "devices.json");
        assertThat(envs(reader.read()).environments()).hasSize(1);
    }

    @Test
    void aDirectoryThatIsNoneIsNotRead() throws Exception {
        var real = Files.move(path, path.resolveSibling("real"));
        new StateFiles(real).env("1", 1000, null, null).write();
        Files.createSymbolicLink(path, real);
        assertUnreadable(reader.read().envs(), "state_unreadable", path.toString());
        Files.delete(path);
        Files.createFile(path);
        assertUnreadable(reader.read().devices(), "state_unreadable", path.toString());
    }

    @Test
    void waitsForGenvsLockButNotForEver() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            assertUnreadable(reader.read().envs(), "lock_timeout", "genv.lock");
            assertUnreadable(reader.read().devices(), "lock_timeout", "genv.lock");
        }
        assertThat(envs(reader.read()).environments()).hasSize(1);
    }

    @Test
    void aLockFileThatIsNoFileIsAProblem() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        Files.createDirectory(path.resolve("genv.lock"));
        assertUnreadable(reader.read().envs(), "state_unreadable", "genv.lock");
    }

    @Test
    void givesTheLockBack() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        Files.createFile(path.resolve("genv.lock"));
        reader.read();
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ZERO, false)) {
            assertThat(lock).isNotNull();
        }
    }

    private static EnvsFile envs(State state) {
        assertThat(state.envs()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<EnvsFile>) state.envs()).content();
    }

    private static DevicesFile devices(State state) {
        assertThat(state.devices()).isInstanceOf(State.File.Present.class);
        return ((State.File.Present<DevicesFile>) state.devices()).content();
    }

    private static void assertUnreadable(State.File<?> file, String code, String why) {
        assertThat(file).isInstanceOfSatisfying(State.File.Unreadable.class, unreadable -> {
            assertThat(unreadable.problem().code()).isEqualTo(code);
            assertThat(unreadable.problem().detail()).contains(why);
        });
    }
}
