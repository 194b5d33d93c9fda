package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.GpuProcess.Workload.WorkloadSource;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.Snapshot.Unlisted;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.testsupport.JsonTree;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotJsonTest {
    private static final String GOOD = "{'pid': 7, 'used_gpu_memory': [{'index': 0, 'gpu_memory': '1mi'}], 'eid': 'a'}";

    private static final Environment ALICES = new Environment(
            "a", 1000L, "alice", "20/11/2026 09:22:28", new Environment.Config(null, "1g", 1), List.of(40), List.of());

    @Test
    void writtenSnapshotIsReadUnchanged() throws UnreadableException {
        var snapshot = new Snapshot(
                "gpu-1",
                List.of(
                        process(41, new Membership.InEnvironment("a"), new DeviceUsage(0, Memory.ofMebibytes(777))),
                        process(
                                42,
                                new Membership.Outside(),
                                new DeviceUsage(0, null),
                                new DeviceUsage(1, Memory.ZERO))),
                List.of(ALICES),
                List.of(
                        new Device(0, "15258mi", List.of(new Attachment("a", null, "20/11/2026 09:22:28"))),
                        new Device(1, null, List.of())),
                Set.of(0, 1),
                Set.of(),
                List.of());
        assertThat(SnapshotJson.read("gpu-1", JsonTree.of(out -> SnapshotJson.write(snapshot, out))))
                .isEqualTo(snapshot);
    }

    @Test
    void writesWhatIsNotListed() {
        var holder = new GpuProcess(
                new ProcessId(4711, 991_232),
                1003L,
                "python",
                new Membership.Outside(),
                List.of(new DeviceUsage(0, null)));
        var snapshot = new Snapshot(
                "gpu-1",
                List.of(),
                new Unlisted(
                        Map.of(0, Memory.ofMebibytes(4096)),
                        List.of(new Unlisted.Holder(holder, 1_204_711, List.of(0)))),
                List.of(),
                List.of(),
                Set.of(0),
                Map.of(),
                SubordinateUids.NONE,
                Set.of(),
                List.of(),
                HostDetails.NONE);
        assertThat(JsonTree.of(out -> SnapshotJson.write(snapshot, out)).path("gpu_unlisted"))
                .hasToString(
                        "{\"devices\":[{\"index\":0,\"gpu_memory\":\"4096mi\"}],\"processes\":[{\"pid\":4711,\"start_time\":991232,"
                                + "\"uid\":1003,\"command\":\"python\",\"devices\":[0],\"used_devices\":[0],\"user\":null,\"eid\":null,"
                                + "\"membership\":{\"by\":\"environ\"},\"membership_unknown\":null,"
                                + "\"immune\":null,\"since\":1204711,\"workload\":null}]}");
    }

    @Test
    void namesThePartsThatWereNotObserved() {
        var missing = Set.of(SnapshotPart.ATTACHMENTS, SnapshotPart.EVERY_PROCESS);
        assertThat(written(List.of(), missing).path("not_observed")).hasToString("[\"every_process\",\"attachments\"]");
    }

    private static JsonNode written(List<GpuProcess> processes, Set<SnapshotPart> missing) {
        var snapshot = new Snapshot("gpu-1", processes, List.of(), List.of(), Set.of(), missing, List.of());
        return JsonTree.of(out -> SnapshotJson.write(snapshot, out));
    }

    @Test
    void writesTheWorkloadOfAProcess() {
        var id = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
        var workload = new Workload(
                "user@1000.service",
                new Container(id, "podman", WorkloadSource.DELEGATED_CGROUP),
                new Pod("2c48913c-b29f-11e7-9350-020968147796"),
                new SlurmJob("7", WorkloadSource.ENVIRON));
        assertThat(workload(workload))
                .hasToString(
                        "{\"unit\":\"user@1000.service\",\"container\":{\"id\":\"" + id
                                + "\",\"engine\":\"podman\",\"by\":\"delegated_cgroup\"},"
                                + "\"pod\":{\"uid\":\"2c48913c-b29f-11e7-9350-020968147796\"},\"slurm_job\":{\"id\":\"7\",\"by\":\"environ\"}}");
        assertThat(workload(new Workload("a.service", null, null, null)))
                .hasToString("{\"unit\":\"a.service\",\"container\":null,\"pod\":null,\"slurm_job\":null}");
        assertThat(workload(null)).hasToString("null");
    }

    private static JsonNode workload(@Nullable Workload workload) {
        var process = new GpuProcess(
                new ProcessId(41, 1),
                1003L,
                "python",
                new Membership.Outside(),
                MembershipSource.ENVIRON,
                List.of(),
                null,
                workload,
                "raz");
        var written = written(List.of(process), Set.of()).at("/processes/processes/0");
        assertThat(written.path("user").textValue()).isEqualTo("raz");
        return written.path("workload");
    }

    @Test
    void readsTheDocumentedExample() throws UnreadableException {
        var snapshot = read("""
                {"processes": {"processes": [
                   {"pid": 5434, "used_gpu_memory": [{"index": 1, "gpu_memory": "777mi"}], "eid": null}]},
                 "envs": {"envs": []}, "devices": {"devices": []}}""");
        assertThat(snapshot.host()).isEqualTo("gpu-1");
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes())
                .containsExactly(process(5434, new Membership.Outside(), new DeviceUsage(1, Memory.ofMebibytes(777))));
    }

    @Test
    void listedProcessWithoutIdIsUnknown() throws UnreadableException {
        var snapshot = read("""
                {"processes": {"processes": [
                   {"pid": 40, "used_gpu_memory": []}, {"pid": 50, "used_gpu_memory": []}]},
                 "envs": {"envs": [{"eid": "a", "uid": 1000, "pids": [40]}]}, "devices": {"devices": []}}""");
        assertThat(snapshot.processes())
                .extracting(GpuProcess::membership)
                .satisfiesExactly(
                        listed -> assertThat(listed).isInstanceOf(Membership.Unknown.class),
                        other -> assertThat(other).isInstanceOf(Membership.Outside.class));
    }

    @Test
    void attachmentsOfMissingEnvironmentsAreDropped() throws UnreadableException {
        var snapshot = read("""
                {"processes": {"processes": []}, "envs": {"envs": []},
                 "devices": {"devices": [{"index": 4, "total_memory": "1mi", "attachments": [{"eid": "dead"}]}]}}""");
        assertThat(snapshot.devices()).containsExactly(new Device(4, "1mi", List.of()));
        assertThat(snapshot.listedDevices()).containsExactly(4);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[]                                                       | is not an object",
                "{'processes': {'processes': []}}                         | has no \"envs\"",
                "{'processes': {}, 'envs': {'envs': []}, 'devices': {'devices': []}} | has no array of processes",
                "{'envs': {'envs': [1]}, 'devices': {'devices': []}}      | an environment is not an object",
                "{'envs': {'envs': []}, 'devices': {'devices': [1]}}      | device ? is not an object",
                "{'envs': {'envs': [{'eid': 'a', 'pids': []}]}, 'devices': {'devices': []}}  | environment a has a uid",
                "{'envs': {'envs': []}, 'devices': {'devices': [{'index': 0, 'attachments': []}, {'index': 0, 'attachments': []}]}} | device 0 is there more than once",
            })
    void refusesUnreadableInput(String json, String why) {
        assertThatThrownBy(() -> read(json.replace('\'', '"')))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContaining(why);
    }

    private static GpuProcess process(int pid, Membership membership, DeviceUsage... usage) {
        return new GpuProcess(new ProcessId(pid, 0), null, "", membership, List.of(usage));
    }

    private static Snapshot read(String text) throws UnreadableException {
        return SnapshotJson.read("gpu-1", GenvJson.read(text.getBytes(UTF_8)));
    }

    @Test
    void usageOfADeviceInSeveralEntriesIsAddedUp() throws UnreadableException {
        var read = readProcesses(
                "{'pid': 5, 'eid': null, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '3mi'}, {'index': 0, 'gpu_memory': '1mi'}, {'index': 1, 'gpu_memory': '4mi'}]}");
        assertThat(read)
                .flatExtracting(GpuProcess::usage)
                .containsExactly(new DeviceUsage(0, Memory.ofMebibytes(1)), new DeviceUsage(1, Memory.ofMebibytes(7)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "'[N/A]mi'"})
    void entryWithUnknownMemoryMakesTheSumUnknown(String unknown) throws UnreadableException {
        var read = readProcesses(
                "{'pid': 5, 'eid': null, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '3mi'}, {'index': 1, 'gpu_memory': %s}]}"
                        .formatted(unknown));
        assertThat(read).flatExtracting(GpuProcess::usage).containsExactly(new DeviceUsage(1, null));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "5                                                        | a process is not an object",
                "{'pid': -1, 'used_gpu_memory': [], 'eid': null}          | that is not a number from 0",
                "{'pid': 8, 'eid': null}                                  | has no array of used_gpu_memory",
                "{'pid': 7, 'used_gpu_memory': [], 'eid': null}           | 7 is there more than once",
                "{'pid': 5, 'used_gpu_memory': [], 'eid': 5}              | process 5 has an eid that is not text",
                "{'pid': 5, 'used_gpu_memory': [7]}                       | process 5 ",
                "{'pid': 5, 'used_gpu_memory': [{'gpu_memory': '1mi'}]}   | process 5 ",
                "{'pid': 5, 'used_gpu_memory': [{'index': 0, 'gpu_memory': 5}]}       | gpu_memory that is not text",
                "{'pid': 5, 'used_gpu_memory': [{'index': 0, 'gpu_memory': 'x'}]}     | cannot be read: x",
            })
    void refusesAnInvalidProcess(String corrupted, String why) throws UnreadableException {
        assertThat(readProcesses(GOOD))
                .singleElement()
                .extracting(GpuProcess::membership)
                .isEqualTo(new Membership.InEnvironment("a"));
        assertThatThrownBy(() -> readProcesses(GOOD + ", " + corrupted))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContainingAll("has an entry that cannot be read: ", why);
    }

    private static List<GpuProcess> readProcesses(String processes) throws UnreadableException {
        return SnapshotJson.processes(GenvJson.read(
                "{\"processes\": [%s]}".formatted(processes.replace('\'', '"')).getBytes(UTF_8)));
    }
}
