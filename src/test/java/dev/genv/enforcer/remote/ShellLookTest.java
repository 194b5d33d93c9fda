package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.Myself;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The real script in each shell, on real processes; only the GPUs are make-believe. */
@Timeout(60)
@ParameterizedClass
@MethodSource("shells")
class ShellLookTest {
    private final Machine machine;

    ShellLookTest(String shell, @TempDir Path folder) throws IOException {
        machine = new Machine(folder, shell);
    }

    static java.util.stream.Stream<String> shells() {
        return OneShell.installed();
    }

    @Test
    void seesWhatRunsAndWhatIsAttached() throws Exception {
        try (var child = Child.inEnvironment("15971")) {
            machine.smi.process(0, child.pid(), "1542").process(1, child.pid(), "[N/A]");
            machine.files()
                    .own("15971", "4g", child.pid())
                    .device(0, "15971")
                    .device(1)
                    .write();
            var look = machine.look();
            assertThat(look.gpuSource()).isEqualTo("nvidia-smi");
            var snapshot = look.snapshot();
            assertThat(snapshot.host()).isEqualTo("gpu-1");
            assertThat(snapshot.processes())
                    .containsExactly(new GpuProcess(
                            new ProcessId(child.pid(), child.startTime()),
                            Myself.uid(),
                            "sleep",
                            new Membership.InEnvironment("15971"),
                            List.of(new DeviceUsage(0, Memory.ofMebibytes(1542)), new DeviceUsage(1, null))));
            assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("15971");
            assertThat(snapshot.devices())
                    .containsExactly(
                            new Device(0, "15258mi", List.of(new Attachment("15971", null, StateFiles.TIME))),
                            new Device(1, "15258mi", List.of()));
            assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1);
            assertThat(snapshot.problems()).isEmpty();
            assertThat(snapshot.missing()).isEmpty();
        }
    }
}
