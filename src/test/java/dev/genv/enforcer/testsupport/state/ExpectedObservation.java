package dev.genv.enforcer.testsupport.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import java.io.IOException;
import java.util.List;

/** The expected result of an observation, for every adapter. */
public final class ExpectedObservation {
    private ExpectedObservation() {}

    /** A child in environment 15971, which has device 0; it uses 1542 MiB of device 0, and an unknown amount of device 1. */
    public static void assertOneEnvironmentObserved(Snapshot snapshot, Child child) throws IOException {
        assertThat(snapshot.processes())
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields(
                        "account") // the user of the build may have none
                .containsExactly(new GpuProcess(
                        new ProcessId(child.pid(), child.startTime()),
                        CurrentProcess.uid(),
                        "sleep",
                        new Membership.InEnvironment("15971"),
                        List.of(new DeviceUsage(0, Memory.ofMebibytes(1542)), new DeviceUsage(1, null))));
        assertThat(snapshot.environments()).extracting(Environment::eid).containsExactly("15971");
        assertThat(snapshot.devices())
                .containsExactly(
                        new Device(0, "15258mi", List.of(new Attachment("15971", null, StateFiles.TIME))),
                        new Device(1, "15258mi", List.of()));
        assertThat(snapshot.listedDevices()).containsExactlyInAnyOrder(0, 1);
    }
}
