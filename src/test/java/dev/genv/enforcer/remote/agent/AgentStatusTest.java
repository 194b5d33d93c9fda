package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is observed of a machine over SSH only for those who watch it. */
@Timeout(600)
class AgentStatusTest {
    @TempDir
    private Path folder;

    private Machine machine;

    @BeforeEach
    void createMachine() throws IOException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new Machine(folder);
        machine.nvidiaSmi.status("0, 1700, 16384, 61, 87\n1, [N/A], 16384, 48, [N/A]\n");
    }

    @Test
    void reportsWhatIsMeasuredOnTheDevices() throws Exception {
        machine.readStatus().files().device(0).device(1).write();
        var status = machine.observe().details();
        assertThat(status.hasGenv()).isTrue();
        assertThat(status.devices())
                .containsExactly(
                        new DeviceStatus(0, 61, 87, Memory.ofMebibytes(1700), Memory.ofMebibytes(16384)),
                        new DeviceStatus(1, 48, null, null, Memory.ofMebibytes(16384)));
    }

    @Test
    void reportsNothingUnlessItIsAskedFor() throws Exception {
        assertThat(machine.observe().details().devices()).isEmpty();
        assertThat(machine.observe().details().hasGenv()).isFalse();
    }

    @Test
    void aDriverThatDoesNotKnowAFieldCostsOnlyTheStatus() throws Exception {
        machine.useFakeProc(folder.resolve("proc")); // with all privileges
        machine.readStatus().nvidiaSmi.fault("case $1 in *temperature*) echo 'no such field'; exit 2 ;; esac");
        var observation = machine.observe();
        assertThat(observation.isComplete()).isTrue();
        assertThat(observation.listedDevices()).containsExactlyInAnyOrder(0, 1);
        assertThat(observation.problems())
                .containsExactly(
                        new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, "nvidia-smi exited with 2: no such field"));
        assertThat(observation.details().devices()).isEmpty();
    }
}
