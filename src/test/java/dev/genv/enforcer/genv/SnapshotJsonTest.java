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
    @Test
    void readsTheDocumentedExample() throws UnreadableException {
        var snapshot =
                read("{'pid': 5434, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '777mi'}], 'eid': null}", "", "");
        assertThat(snapshot.host()).isEqualTo("gpu-1");
        assertThat(snapshot.isComplete()).isTrue();
        assertThat(snapshot.processes())
                .containsExactly(new GpuProcess(
                        new ProcessId(5434, 0),
                        null,
                        "",
                        new Membership.Outside(),
                        List.of(new DeviceUsage(1, Memory.ofMebibytes(777)))));
    }

    @Test
    void listedProcessWithoutIdIsUnknown() throws UnreadableException {
        var snapshot = read(
                "{'pid': 40, 'used_gpu_memory': []}, {'pid': 50, 'used_gpu_memory': []}, {'pid': 60, 'eid': 'a',"
                        + " 'used_gpu_memory': []}",
                "{'eid': 'a', 'uid': 1000, 'pids': [40]}",
                "");
        assertThat(snapshot.processes())
                .extracting(GpuProcess::membership)
                .satisfiesExactly(
                        listed -> assertThat(listed).isInstanceOf(Membership.Unknown.class),
                        other -> assertThat(other).isInstanceOf(Membership.Outside.class),
                        named -> assertThat(named).isEqualTo(new Membership.InEnvironment("a")));
    }

    @Test
    void attachmentsOfMissingEnvironmentsAreDropped() throws UnreadableException {
        var snapshot = read("", "", "{'index': 4, 'total_memory': '1mi', 'attachments': [{'eid': 'dead'}]}");
        assertThat(snapshot.devices()).containsExactly(new Device(4, "1mi", List.of()));
        assertThat(snapshot.listedDevices()).containsExactly(4);
    }

    @Test
    void usageOfADeviceInSeveralEntriesIsAddedUp() throws UnreadableException {
        assertThat(usage("{'index': 1, 'gpu_memory': '3mi'}, {'index': 0, 'gpu_memory': '1mi'}, {'index': 1,"
                        + " 'gpu_memory': '4mi'}"))
                .containsExactly(new DeviceUsage(0, Memory.ofMebibytes(1)), new DeviceUsage(1, Memory.ofMebibytes(7)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "'[N/A]mi'"})
    void entryWithUnknownMemoryMakesTheSumUnknown(String unknown) throws UnreadableException {
        assertThat(usage("{'index': 1, 'gpu_memory': '3mi'}, {'index': 1, 'gpu_memory': %s}".formatted(unknown)))
                .containsExactly(new DeviceUsage(1, null));
    }

    private static List<DeviceUsage> usage(String entries) throws UnreadableException {
        return read("{'pid': 5, 'eid': null, 'used_gpu_memory': [%s]}".formatted(entries), "", "")
                .processes()
                .getFirst()
                .usage();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        5                                                    | ^^ | ^^ | a process is not an object
        {'pid': -1, 'used_gpu_memory': [], 'eid': null}      | ^^ | ^^ | that is not a number from 0
        {'pid': 8, 'eid': null}                              | ^^ | ^^ | has no array of used_gpu_memory
        {'pid': 7, 'used_gpu_memory': []}, {'pid': 7, 'used_gpu_memory': []} | ^^ | ^^ | a process 7 is there more than once
        {'pid': 5, 'used_gpu_memory': [], 'eid': 5}          | ^^ | ^^ | process 5 has an eid that is not text
        {'pid': 5, 'used_gpu_memory': [7]}                   | ^^ | ^^ | process 5 is not an object
        {'pid': 5, 'used_gpu_memory': [{'gpu_memory': '1mi'}]}               | ^^ | ^^ | process 5 has an index
        {'pid': 5, 'used_gpu_memory': [{'index': 0, 'gpu_memory': 5}]}       | ^^ | ^^ | gpu_memory that is not text
        {'pid': 5, 'used_gpu_memory': [{'index': 0, 'gpu_memory': 'x'}]}     | ^^ | ^^ | cannot be read: x
        ^^ | 1                         | ^^                                  | an environment is not an object
        ^^ | {'eid': 'a', 'pids': []}  | ^^                                  | environment a has a uid
        ^^ | ^^                        | 1                                   | device ? is not an object
        ^^ | ^^ | {'index': 0, 'attachments': []}, {'index': 0, 'attachments': []} | device 0 is there more than once
        """)
    void refusesAnInvalidEntry(String processes, String environments, String devices, String why) {
        assertThatThrownBy(() -> read(processes, environments, devices))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContainingAll("has an entry that cannot be read: ", why);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        []                                                                  | is not an object
        {"processes": {"processes": []}}                                    | has no "envs"
        {"processes": {}, "envs": {"envs": []}, "devices": {"devices": []}} | has no array of processes
        """)
    void refusesAnotherForm(String json, String why) {
        assertThatThrownBy(() -> SnapshotJson.read("gpu-1", GenvJson.read(json.getBytes(UTF_8))))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContaining(why);
    }

    private static Snapshot read(String processes, String environments, String devices) throws UnreadableException {
        var json = "{'processes': {'processes': [%s]}, 'envs': {'envs': [%s]}, 'devices': {'devices': [%s]}}"
                .formatted(processes, environments, devices)
                .replace('\'', '"');
        return SnapshotJson.read("gpu-1", GenvJson.read(json.getBytes(UTF_8)));
    }
}
