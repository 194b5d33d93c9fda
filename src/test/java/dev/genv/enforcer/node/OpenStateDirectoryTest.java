package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Requirements;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The state directory that Docker and Kubernetes make where there is none. */
class OpenStateDirectoryTest {
    private final Path state;
    private final NodeHost host;

    OpenStateDirectoryTest(@TempDir Path folder) {
        state = folder.resolve("genv");
        host = new NodeHost(
                "gpu-1",
                new NodeHost.Places(
                        Path.of("/proc"), state, Duration.ofSeconds(1), "nvidia-smi", Duration.ofSeconds(1), false),
                new NodeHost.Care(List.of(), List.of(), true, true));
    }

    @BeforeEach
    void make() throws Exception {
        Files.createDirectory(state);
        Files.setAttribute(state, "unix:mode", 0755);
    }

    @Test
    void anEmptyOneOfRootsIsOpenedToEverybody() throws Exception {
        Requirements.root();
        assertThat(host.openStateDirectoryToEverybody())
                .hasValueSatisfying(said -> assertThat(said).contains(state.toString(), "0777"));
        assertThat(mode()).isEqualTo(0777);
        assertThat(host.openStateDirectoryToEverybody()).isEmpty();
    }

    @Test
    void theFileOfAnEnforcerIsNothing() throws Exception {
        Requirements.root();
        Files.createFile(state.resolve(".genv-enforcer.lock"));
        assertThat(host.openStateDirectoryToEverybody()).isPresent();
        assertThat(mode()).isEqualTo(0777);
    }

    @Test
    void oneWithAnythingInItIsLeftAlone() throws Exception {
        Files.createFile(state.resolve("envs.json"));
        assertThat(host.openStateDirectoryToEverybody()).isEmpty();
        assertThat(mode()).isEqualTo(0755);
    }

    @Test
    void oneOfAnotherUserIsLeftAlone() throws Exception {
        if (Libc.effectiveUid() == 0) {
            Files.setAttribute(state, "unix:uid", 65534);
        }
        assertThat(host.openStateDirectoryToEverybody()).isEmpty();
        assertThat(mode()).isEqualTo(0755);
    }

    @ParameterizedTest
    @ValueSource(ints = {0777, 01777})
    void oneThatIsOpenAlreadyIsLeftAlone(int mode) throws Exception {
        Files.setAttribute(state, "unix:mode", mode);
        assertThat(host.openStateDirectoryToEverybody()).isEmpty();
        assertThat(mode()).isEqualTo(mode);
    }

    @Test
    void oneThatIsNotThereIsNotMade() throws Exception {
        Files.delete(state);
        assertThat(host.openStateDirectoryToEverybody()).isEmpty();
        assertThat(state).doesNotExist();
    }

    @Test
    void oneBehindALinkIsLeftAloneAndSaid() throws Exception {
        var real = Files.move(state, state.resolveSibling("real"));
        Files.createSymbolicLink(state, real);
        assertThat(host.openStateDirectoryToEverybody())
                .hasValueSatisfying(said -> assertThat(said).contains("cannot be made ready"));
        assertThat(mode()).isEqualTo(0755);
    }

    private int mode() throws Exception {
        return (int) Files.getAttribute(state, "unix:mode") & 07777;
    }
}
