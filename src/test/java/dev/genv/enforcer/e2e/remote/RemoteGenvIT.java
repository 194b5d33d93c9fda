package dev.genv.enforcer.e2e.remote;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.e2e.SshFleetSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Machines that are observed and acted on through genv itself. */
@Tag("long")
class RemoteGenvIT extends SshFleetSuite {
    /** A fake genv, which prints a given snapshot and records its input. */
    private static final String GENV = """
            #!/bin/sh
            case "$(id -u) $*" in
            '0 usage snapshot') exec cat "$0.snapshot" ;;
            '0 usage execute') exec cat >>"$0.executed" ;;
            esac
            echo "genv: $*?" >&2
            exit 2
            """;

    @BeforeEach
    void installGenv() throws IOException {
        for (var host : new RealSshd[] {first, second}) {
            host.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/local/sbin/genv");
            host.installProgram("genv", GENV);
        }
        fleet.node.set("REMOTE_AGENT", "genv");
    }

    @Test
    void passesActionsToGenv() throws IOException {
        var stray = startChild(Map.of());
        var member = closeLater(Child.inEnvironment("a"));
        snapshot(first, process(stray, "null"));
        snapshot(second, process(member, "\"a\""));

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").runOnce();

        assertThat(output.exitCode()).as("%s", output.log()).isZero();
        assertThat(output.out())
                .containsExactly(
                        "[%s] Process %d is not running in a GPU environment".formatted(first.target(), stray.pid()),
                        "[%s] Terminating process %d from environment N/A that is running on GPU(s) 0"
                                .formatted(first.target(), stray.pid()));
        assertThat(new ObjectMapper().readTree(Files.readString(executedFile(first))))
                .isEqualTo(new ObjectMapper()
                        .readTree("{\"terminate\": {\"processes\": [%s]}, \"detach\": {}}"
                                .formatted(process(stray, "null"))));
        assertThat(executedFile(second)).doesNotExist();
    }

    @Test
    void machineWithoutGenvDoesNotAffectOthers() throws IOException {
        first.installProgram("genv", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'genv'\" >&2\nexit 1\n");
        var stray = startChild(Map.of());
        snapshot(second, process(stray, "null"));

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").runOnce();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains(first.target()) && line.contains("No module named"));
        assertThat(executedFile(second)).content().contains(Integer.toString(stray.pid()));
    }

    private static String process(Child child, String eid) {
        return """
                {"pid": %d, "used_gpu_memory": [{"index": 0, "gpu_memory": "777mi"}], "eid": %s}""".formatted(child.pid(), eid);
    }

    private void snapshot(RealSshd host, String process) throws IOException {
        host.state()
                .ownEnv("a", null, (int) ProcessHandle.current().pid())
                .device(0, "a")
                .device(1);
        var snapshot = "{\n  \"processes\": {\"processes\": [%s]},\n  \"envs\": %s,\n  \"devices\": %s\n}\n"
                .formatted(
                        process,
                        indented(host.state().envsJson()),
                        indented(host.state().devicesJson()));
        Files.writeString(fileOfGenv(host, "snapshot"), snapshot);
    }

    private static String indented(String json) {
        return json.replace("\n", "\n  ");
    }

    private static Path executedFile(RealSshd host) {
        return fileOfGenv(host, "executed");
    }

    private static Path fileOfGenv(RealSshd host, String suffix) {
        return host.gpus().path().resolveSibling("genv." + suffix);
    }
}
