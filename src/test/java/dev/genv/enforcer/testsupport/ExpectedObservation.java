package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.DeviceUsage;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.io.IOException;
import java.util.List;

/** What a look must see, by whatever way it comes to it. */
public final class ExpectedObservation {
    private ExpectedObservation() {}

    /** A child that uses 1542 MiB of device 0, and nobody knows how much of device 1, in environment 15971, attached to 0. */
    public static void assertOneEnvironmentObserved(Snapshot snapshot, Child child) throws IOException {
        assertThat(snapshot.processes())
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
