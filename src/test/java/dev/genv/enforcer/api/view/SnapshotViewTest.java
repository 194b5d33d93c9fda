package dev.genv.enforcer.api.view;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.SnapshotJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unexplained;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.testsupport.JsonTree;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SnapshotViewTest {
    private static final StateFiles FILES = new StateFiles(Path.of("unused"))
            .env("a", 1000, "ünal", "1g", List.of(40), List.of("k"))
            .env("b", 4294967295L, null, null, 12, 13)
            .device(0, "a")
            .device(1, new Attachment("a", "4g", null), new Attachment("ü", null, StateFiles.TIME));

    /** Its environments and devices are genv's files, byte for byte, and a client can send it back. */
    @Test
    void hasTheFormOfGenv() throws UnreadableException {
        var environments = EnvsFile.of(GenvJson.read(FILES.envsJson().getBytes(UTF_8)));
        var devices = DevicesFile.of(GenvJson.read(FILES.devicesJson().getBytes(UTF_8)));
        var living = Set.of("a", "b");
        var snapshot = new Snapshot(
                "gpu-1",
                List.of(
                        process(41, new Membership.InEnvironment("a"), new DeviceUsage(0, Memory.ofMebibytes(777))),
                        process(
                                42,
                                new Membership.Outside(),
                                new DeviceUsage(0, null),
                                new DeviceUsage(1, Memory.ZERO))),
                environments.environments(),
                devices.devices(),
                Set.of(0, 1),
                Set.of(),
                List.of());
        var json = JsonTree.of(SnapshotView.of(snapshot));
        assertThat(new String(GenvJson.write(json.path("envs")), UTF_8)).isEqualTo(FILES.envsJson());
        assertThat(new String(GenvJson.write(json.path("devices")), UTF_8)).isEqualTo(FILES.devicesJson());
        assertThat(json.fieldNames()).toIterable().containsExactly("processes", "envs", "devices");
        var read = SnapshotJson.read("gpu-1", json);
        assertThat(read.processes()).isEqualTo(snapshot.processes());
        assertThat(read.environments()).isEqualTo(snapshot.environments());
        assertThat(read.devices())
                .isEqualTo(snapshot.devices().stream()
                        .map(device -> device.retainAttachments(living))
                        .toList());
    }

    @Test
    void showsWhatGenvDoesNotKnow() {
        var id = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
        var workload = new Workload(
                "/kubepods/x", new Container(id), new Pod("2c48913c-b29f-11e7-9350-020968147796"), new SlurmJob("7"));
        var listed = new GpuProcess(
                new ProcessId(41, 1),
                1003L,
                "python",
                new Membership.Outside(),
                MembershipSource.ENVIRON,
                List.of(),
                null,
                workload,
                new GpuProcess.User("raz", GpuProcess.User.Source.ACCOUNT),
                1003L,
                null,
                Set.of());
        var snapshot = new Snapshot(
                "gpu-1",
                List.of(listed),
                new Unexplained(
                        Map.of(1, Memory.ofMebibytes(512), 0, Memory.ofMebibytes(4096)), Set.of(0, 1), Set.of()),
                List.of(),
                List.of(),
                Set.of(0),
                Set.of(SnapshotPart.ATTACHMENTS, SnapshotPart.EVERY_PROCESS),
                List.of(),
                HostDetails.NONE);
        assertThat(JsonTree.of(SnapshotView.of(snapshot)))
                .hasToString("""
                    {"processes":{"processes":[{"pid":41,"used_gpu_memory":[],"command":"python","user":"raz","user_by":"account","eid":null,
                    "membership":{"by":"environ"},"workload":{"cgroup":"/kubepods/x","container":{"id":"%s"},"pod":{"uid":"2c48913c-b29f-11e7-9350-020968147796"},
                    "slurm_job":{"id":"7"}}}]},
                    "unexplained_memory":[{"index":0,"gpu_memory":"4096mi"},{"index":1,"gpu_memory":"512mi"}],
                    "not_observed":["every_process","attachments"],"envs":{"envs":[]},"devices":{"devices":[]}}\
                    """.formatted(id).replace("\n", ""));
    }

    private static GpuProcess process(int pid, Membership membership, DeviceUsage... usage) {
        return new GpuProcess(new ProcessId(pid, 0), null, "", membership, List.of(usage));
    }
}
