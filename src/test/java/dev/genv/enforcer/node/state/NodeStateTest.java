package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class NodeStateTest {
    private static final Path PROC = Path.of("/proc");

    private final Path path;
    private final NodeState reader;
    private final StateParser parser;

    NodeStateTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        parser = new StateParser(path.toString());
        reader = reader(PROC);
    }

    private NodeState reader(Path root) {
        return new NodeState(path, HANG, new ProcFs(root));
    }

    @Test
    void emptyDirectoryIsAbsentStateAndStaysEmpty() throws Exception {
        var state = read();
        assertThat(state)
                .isEqualTo(
                        new State(new State.File.Absent<>(), new State.File.Absent<>(), List.of(), state.lockWait()));
        assertThat(path).isEmptyDirectory();
    }

    private State read() throws InterruptedException {
        return read(reader);
    }

    private State read(NodeState from) throws InterruptedException {
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

    @Test
    void directoryMovedOnTheHostIsNotRead(@TempDir Path folder) throws Exception {
        new StateFiles(path).env("1", 1000, null, null).device(0).write();
        var fake = new FakeProc(folder);
        fake.mountNamespace("self", 2).mountNamespace("1", 1);
        fake.mounts("self", "36 22 98:0 /genv %s rw - ext4 /dev/sda rw".formatted(path.toRealPath()));
        fake.mounts("1", "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        var onHost = Files.createDirectories(folder.resolve("1/root")).resolve("data");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        var contained = reader(folder);
        assertThat(envs(read(contained)).environments()).hasSize(1);
        Files.delete(onHost);
        assertUnreadable(read(contained).envs(), ProblemCode.STATE_DIRECTORY_MOVED, "/data/genv");
        assertUnreadable(read(contained).devices(), ProblemCode.STATE_DIRECTORY_MOVED, "recreate the container");
        Files.createSymbolicLink(onHost, path.toRealPath().getParent());
        assertThat(envs(read(contained)).environments()).hasSize(1);
    }

    /** Docker and Kubernetes create a missing directory closed to other users. The commands run in the folder of the state directory. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "true                            | 777  | its mode is now 0777",
                "touch genv/.genv-enforcer.lock  | 777  | its mode is now 0777",
                "touch genv/envs.json            | 755  |",
                "chown 65534 genv                | 755  |",
                "chmod 777 genv                  | 777  |",
                "chmod 1777 genv                 | 1777 |",
                "rmdir genv                      |      |",
                "mv genv real && ln -s real genv | 755  | cannot be prepared",
            })
    void opensAnEmptyDirectoryOfRootThatIsClosedToOthers(String commands, @Nullable String mode, @Nullable String said)
            throws Exception {
        Requirements.root();
        Programs.shell(path.getParent(), "chmod 755 genv && " + commands);
        var message = reader.openToAll();
        if (said == null) {
            assertThat(message).isEmpty();
        } else {
            assertThat(message).hasValueSatisfying(text -> assertThat(text).contains(path.toString(), said));
        }
        if (mode == null) {
            assertThat(path).doesNotExist();
        } else {
            assertThat((int) Files.getAttribute(path, "unix:mode") & 07777).isEqualTo(Integer.parseInt(mode, 8));
        }
    }

    /** As read_at_once and read_unlocked of the agent do it: what nobody is writing needs no lock, even if it is no valid JSON. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"envs\": []}                 | true",
                "{'envs': [NaN]}                | true",
                "{\"envs\": [{\"eid\": \"}\\\"]\"}]} | true",
                "{\"envs\": [{\"eid\": \"}]}\"       | false",
                "{\"envs\": [                   | false",
                "{\"envs\": []}]                | false",
                "7                              | false",
            })
    void onlyAFileWhoseObjectsAndTextsEndIsComplete(String content, boolean isComplete) throws Exception {
        Files.writeString(path.resolve("envs.json"), content);
        assertThat(reader.look().lock().outcome()).isEqualTo(isComplete ? Outcome.NOT_ATTEMPTED : Outcome.HELD);
    }
}
