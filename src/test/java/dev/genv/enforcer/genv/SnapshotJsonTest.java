package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotJsonTest {
    private static final String GOOD = "{'pid': 7, 'used_gpu_memory': [{'index': 0, 'gpu_memory': '1mi'}], 'eid': 'a'}";

    @Test
    void readsTheDocumentedExample() throws UnreadableException {
        var snapshot = read("""
            {"processes": {"processes": [
               {"pid": 5434, "used_gpu_memory": [{"index": 1, "gpu_memory": "777mi"}], "eid": null}]},
             "envs": {"envs": []}, "devices": {"devices": []}}\
            """);
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
             "envs": {"envs": [{"eid": "a", "uid": 1000, "pids": [40]}]}, "devices": {"devices": []}}\
            """);
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
             "devices": {"devices": [{"index": 4, "total_memory": "1mi", "attachments": [{"eid": "dead"}]}]}}\
            """);
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
                "{'envs': {'envs': []}, 'devices': {'devices': [{'index': 0, 'attachments': []}, {'index': 0,"
                        + " 'attachments': []}]}} | device 0 is there more than once",
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
                "{'pid': 5, 'eid': null, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '3mi'}, {'index': 0,"
                        + " 'gpu_memory': '1mi'}, {'index': 1, 'gpu_memory': '4mi'}]}");
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
