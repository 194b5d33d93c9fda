package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.linux.FileCalls;
import dev.genv.enforcer.node.NodeMachine;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.Requirements;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The state directory that Docker and Kubernetes make if there is none. */
class OpenStateDirectoryTest {
    private final Path state;
    private final NodeMachine host;

    OpenStateDirectoryTest(@TempDir Path folder) {
        state = folder.resolve("genv");
        host = new NodeBuilder(state, folder.resolve("nvidia-smi")).machine();
    }

    @BeforeEach
    void createStateDirectory() throws Exception {
        Files.createDirectory(state);
        Files.setAttribute(state, "unix:mode", 0755);
    }

    /** The lock file of an enforcer does not count as content. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void emptyDirectoryOfRootIsMadeWorldWritable(boolean hasLockFile) throws Exception {
        Requirements.root();
        if (hasLockFile) {
            Files.createFile(state.resolve(".genv-enforcer.lock"));
        }
        assertThat(host.openStateDirectory())
                .hasValueSatisfying(said -> assertThat(said).contains(state.toString(), "0777"));
        assertUnchanged(0777);
    }

    @Test
    void nonEmptyDirectoryIsUnchanged() throws Exception {
        Files.createFile(state.resolve("envs.json"));
        assertUnchanged(0755);
    }

    @Test
    void directoryOfAnotherUserIsUnchanged() throws Exception {
        if (FileCalls.effectiveUid() == 0) {
            Files.setAttribute(state, "unix:uid", 65534);
        }
        assertUnchanged(0755);
    }

    @ParameterizedTest
    @ValueSource(ints = {0777, 01777})
    void worldWritableDirectoryIsUnchanged(int mode) throws Exception {
        Files.setAttribute(state, "unix:mode", mode);
        assertUnchanged(mode);
    }

    @Test
    void missingDirectoryIsNotCreated() throws Exception {
        Files.delete(state);
        assertThat(host.openStateDirectory()).isEmpty();
        assertThat(state).doesNotExist();
    }

    @Test
    void linkedDirectoryIsUnchangedAndReported() throws Exception {
        var real = Files.move(state, state.resolveSibling("real"));
        Files.createSymbolicLink(state, real);
        assertThat(host.openStateDirectory())
                .hasValueSatisfying(said -> assertThat(said).contains("cannot be prepared"));
        assertThat(mode()).isEqualTo(0755);
    }

    private void assertUnchanged(int mode) throws Exception {
        assertThat(host.openStateDirectory()).isEmpty();
        assertThat(mode()).isEqualTo(mode);
    }

    private int mode() throws Exception {
        return (int) Files.getAttribute(state, "unix:mode") & 07777;
    }
}
