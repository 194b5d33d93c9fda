package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A state directory that was replaced, moved or removed. */
@Timeout(600)
class StateReaderDirectoryTest {
    private final Path path;
    private final StateReader reader;
    private final StateParser parser;

    StateReaderDirectoryTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        parser = new StateParser(path.toString());
        reader = StateReaders.of(path, HANG, new ProcFs(Path.of("/proc")));
    }

    @Test
    void linkOrFileInPlaceOfTheDirectoryIsNotRead() throws Exception {
        var real = Files.move(path, path.resolveSibling("real"));
        new StateFiles(real).env("1", 1000, null, null).write();
        Files.createSymbolicLink(path, real);
        assertUnreadable(read().envs(), ProblemCode.STATE_UNREADABLE, path.toString());
        Files.delete(path);
        Files.createFile(path);
        assertUnreadable(read().devices(), ProblemCode.STATE_UNREADABLE, path.toString());
    }

    @Test
    void replacedOrMissingDirectoryIsReported() throws Exception {
        new StateFiles(path).env("1", 1000, null, null).write();
        assertThat(read().problems()).isEmpty();
        Files.move(path, path.resolveSibling("moved"));
        for (var observation = 0; observation < 2; observation++) {
            assertThat(read().problems())
                    .extracting(Problem::code)
                    .containsExactly(ProblemCode.STATE_DIRECTORY_REPLACED);
        }
        new StateFiles(path).env("2", 1000, null, null).write();
        var state = read();
        assertThat(state.problems()).extracting(Problem::code).containsExactly(ProblemCode.STATE_DIRECTORY_REPLACED);
        assertThat(envs(state).environments()).extracting(Environment::eid).containsExactly("2");
        assertThat(read().problems()).isEmpty();
    }

    @Test
    void directoryMovedOnTheHostIsNotRead(@TempDir Path folder) throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        var fake = new FakeProc(folder);
        fake.mountNamespace("self", 2).mountNamespace("1", 1);
        fake.mounts("self", "36 22 98:0 /genv %s rw - ext4 /dev/sda rw".formatted(path.toRealPath()));
        fake.mounts("1", "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        var onHost = Files.createDirectories(folder.resolve("1/root")).resolve("data");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        var contained = StateReaders.of(path, HANG, new ProcFs(folder));
        assertThat(envs(read(contained)).environments()).hasSize(1);
        Files.delete(onHost);
        assertUnreadable(read(contained).envs(), ProblemCode.STATE_DIRECTORY_MOVED, "/data/genv");
        assertUnreadable(read(contained).devices(), ProblemCode.STATE_DIRECTORY_MOVED, "recreate the container");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        assertThat(envs(read(contained)).environments()).hasSize(1);
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

    private static void assertUnreadable(State.File<?> file, ProblemCode code, String why) {
        assertThat(file).isInstanceOfSatisfying(State.File.Unreadable.class, unreadable -> {
            assertThat(unreadable.problem().code()).isEqualTo(code);
            assertThat(unreadable.problem().detail()).contains(why);
        });
    }
}
