package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SnapshotProcessesTest {
    private static final String GOOD = "{'pid': 7, 'used_gpu_memory': [{'index': 0, 'gpu_memory': '1mi'}], 'eid': 'a'}";

    @Test
    void usageOfADeviceInSeveralEntriesIsAddedUp() throws UnreadableException {
        var read = read(
                "{'pid': 5, 'eid': null, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '3mi'}, {'index': 0, 'gpu_memory': '1mi'}, {'index': 1, 'gpu_memory': '4mi'}]}");
        assertThat(read)
                .flatExtracting(GpuProcess::usage)
                .containsExactly(new DeviceUsage(0, Memory.ofMebibytes(1)), new DeviceUsage(1, Memory.ofMebibytes(7)));
    }

    @Test
    void entryWithUnknownMemoryMakesTheSumUnknown() throws UnreadableException {
        var read = read(
                "{'pid': 5, 'eid': null, 'used_gpu_memory': [{'index': 1, 'gpu_memory': '3mi'}, {'index': 1, 'gpu_memory': '[N/A]mi'}]}");
        assertThat(read).flatExtracting(GpuProcess::usage).containsExactly(new DeviceUsage(1, null));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "5                                                        | a process is not an object",
                "{'pid': -1, 'used_gpu_memory': [], 'eid': null}          | that is not a number from 0",
                "{'pid': '8', 'used_gpu_memory': [], 'eid': null}         | that is not a number from 0",
                "{'pid': 99999999999, 'used_gpu_memory': [], 'eid': null} | that is not a number from 0",
                "{'pid': 8, 'eid': null}                                  | has no array of used_gpu_memory",
                "{'pid': 7, 'used_gpu_memory': [], 'eid': null}           | 7 is there more than once",
            })
    void refusesAnInvalidProcess(String corrupted, String why) throws UnreadableException {
        assertThat(read(GOOD))
                .singleElement()
                .extracting(GpuProcess::membership)
                .isEqualTo(new Membership.InEnvironment("a"));
        assertRefused(GOOD + ", " + corrupted, why);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{'index': 0, 'gpu_memory': 'x'} | amount of memory that cannot be read: x",
                "{'index': 0, 'gpu_memory': 5}   | gpu_memory that is not text",
            })
    void refusesAnInvalidAmount(String use, String why) {
        assertRefused("{'pid': 5, 'used_gpu_memory': [%s], 'eid': null}".formatted(use), "process 5 has", why);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{'gpu_memory': '1mi'}", "{'index': 'x', 'gpu_memory': '1mi'}", "7"})
    void refusesAnUnreadableDevice(String use) {
        assertRefused(
                "{'pid': 5, 'used_gpu_memory': [{'index': 0, 'gpu_memory': '1mi'}, %s], 'eid': null}".formatted(use),
                "process 5 ");
    }

    @Test
    void refusesAnIdOfAnotherType() {
        assertRefused("{'pid': 5, 'used_gpu_memory': [], 'eid': 5}", "process 5 has an eid that is not text");
    }

    @Test
    void tooLongIdIsShortened() throws UnreadableException {
        var read = read("{'pid': 6, 'used_gpu_memory': [], 'eid': '%s'}".formatted("é".repeat(3000)));
        assertThat(read)
                .extracting(GpuProcess::membership)
                .satisfiesExactly(endless -> assertThat(endless)
                        .isInstanceOfSatisfying(
                                Membership.InEnvironment.class,
                                membership -> assertThat(membership.eid())
                                        .startsWith("too-long:")
                                        .hasSizeLessThan(200)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "null", "{}", "{\"processes\": {}}"})
    void refusesOtherFormats(String json) {
        assertThatThrownBy(() -> SnapshotJson.processes(GenvJson.read(json.getBytes(UTF_8))))
                .isInstanceOf(UnreadableException.class);
    }

    private static void assertRefused(String processes, String... why) {
        assertThatThrownBy(() -> read(processes))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContaining("has an entry that cannot be read: ")
                .hasMessageContainingAll(why);
    }

    private static List<GpuProcess> read(String processes) throws UnreadableException {
        return SnapshotJson.processes(GenvJson.read(
                "{\"processes\": [%s]}".formatted(processes.replace('\'', '"')).getBytes(UTF_8)));
    }
}
