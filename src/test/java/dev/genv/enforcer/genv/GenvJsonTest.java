package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.US_ASCII;
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
import java.io.ByteArrayInputStream;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GenvJsonTest {

    /** Each text is the output of Python 3 for {@code json.dumps(json.loads(text), indent=2)}. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "1.0",
                "\"\"",
                "{\n  \"a\": {},\n  \"b\": [],\n  \"a b\": null\n}",
                "[\n  [\n    []\n  ],\n  {\n    \"x\": [\n      {}\n    ]\n  }\n]",
                "123456789012345678901234567890123456789012345678901234567890",
                "\"\\\"\\\\/ \\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\"",
                "\"\\u00e9\\u0080\\u20ac\\u2028\\uffff\\ud83d\\ude00\"",
                "\"\\ud83d\"", // half of a surrogate pair, which Python reads and writes
                "{\n  \"\\u00fc\\u007f\": \"\\u00fc\"\n}",
            })
    void writesAsPythonDoes(String text) throws UnreadableException {
        assertThat(written(text)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({
        "' \n', is empty",
        "'{\"envs\": [', is not JSON",
        "{} {}, is not JSON",
        "[1] ], is not JSON",
        "{'a': 1}, is not JSON",
        "NaN, is not JSON",
        "'[1,]', is not JSON",
        "\ufeff{}, is not JSON",
    })
    void refusesInvalidJson(String text, String why) {
        assertThatThrownBy(() -> GenvJson.read(text.getBytes(UTF_8)))
                .isInstanceOf(UnreadableException.class)
                .hasMessageStartingWith(why);
    }

    /** A user can link a file of root in place of a state file, and reports contain the errors of the file. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "hunter2:secret",
                "root:$6$hunter2:19000:0:99999:7:::",
                "{\"a\": hunter2}",
                "{} hunter2",
                "nullhunter2",
                "\"\\hunter2\"",
                "1ehunter2",
                "\"\\uhunter2\""
            })
    void errorMessageQuotesNoInput(String text) {
        assertThatThrownBy(() -> GenvJson.read(text.getBytes(UTF_8)))
                .isInstanceOf(UnreadableException.class)
                .hasMessageMatching("is not JSON: [a-z ]+ \\(line 1, column \\d+\\)");
    }

    /** A continuation byte, a truncated letter, an overlong zero, half of a surrogate pair, and a value above Unicode. */
    @ParameterizedTest
    @ValueSource(strings = {"ff", "c3", "c080", "eda080", "f4908080"})
    void refusesInvalidUtf8(String letter) {
        var bytes = HexFormat.of().parseHex("22" + letter + "22");
        assertThatThrownBy(() -> GenvJson.read(bytes))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("is not UTF-8");
    }

    @Test
    void refusesInputAboveTheMaximumDepth() throws UnreadableException {
        assertThat(GenvJson.read(nested(64)).isArray()).isTrue();
        for (var depth : new int[] {65, 1_000_000}) {
            assertThatThrownBy(() -> GenvJson.read(nested(depth)))
                    .isInstanceOf(UnreadableException.class)
                    .hasMessageContaining("depth");
        }
    }

    @Test
    void refusesATreeThatWouldTakeTooMuchMemory() throws UnreadableException {
        assertThat(GenvJson.read(list("7", 900_000))).hasSize(900_000);
        assertThat(GenvJson.read(list("[]", 200_000))).hasSize(200_000);
        for (var text :
                new byte[][] {list("7", 2_000_000), list("[]", 400_000), list("{}", 400_000), list("\"\"", 600_000)}) {
            assertThatThrownBy(() -> GenvJson.read(text))
                    .isInstanceOf(UnreadableException.class)
                    .hasMessageMatching("is too large: it would take more than 24 MiB of memory \\(line 1, .*");
            assertThat(GenvJson.readUpTo(240L << 20, new ByteArrayInputStream(text)))
                    .isNotEmpty();
        }
    }

    @Test
    void refusesFieldNamesLongerThanAnId() throws UnreadableException {
        assertThat(GenvJson.read(named("x".repeat(4096)))).hasSize(1);
        assertThatThrownBy(() -> GenvJson.read(named("x".repeat(4097))))
                .isInstanceOf(UnreadableException.class)
                .hasMessageMatching("is too large: Name length .*")
                .hasMessageNotContaining("xx");
    }

    /** Otherwise the parser would keep names of users in a table for ever. */
    @Test
    void cachesNoFieldNames() throws UnreadableException {
        var first = GenvJson.read(named("chosen")).fieldNames().next();
        var second = GenvJson.read(named("chosen")).fieldNames().next();
        assertThat(second).isEqualTo(first).isNotSameAs(first);
    }

    private static byte[] named(String name) {
        return "{\"%s\": 1}".formatted(name).getBytes(US_ASCII);
    }

    private static byte[] list(String element, int count) {
        return ("[" + (element + ",").repeat(count - 1) + element + "]").getBytes(US_ASCII);
    }

    private static byte[] nested(int depth) {
        return ("[".repeat(depth) + "]".repeat(depth)).getBytes(US_ASCII);
    }

    private static String written(String text) throws UnreadableException {
        return new String(GenvJson.write(GenvJson.read(text.getBytes(UTF_8))), US_ASCII);
    }

    // The snapshot that `POST /plan` takes.

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
    void listedProcessWithoutIdIsExcusedOnTheDevicesOfTheEnvironment() throws UnreadableException {
        var used = "'used_gpu_memory': [{'index': 0, 'gpu_memory': '1mi'}, {'index': 1, 'gpu_memory': '1mi'}]}";
        var snapshot = read(
                "{'pid': 40, %1$s, {'pid': 50, %1$s, {'pid': 60, 'eid': 'a', %1$s".formatted(used),
                "{'eid': 'a', 'uid': 1000, 'pids': [40, 60]}",
                "{'index': 1, 'total_memory': '1mi', 'attachments': [{'eid': 'a'}]}");
        assertThat(snapshot.processes())
                .extracting(GpuProcess::membership)
                .containsExactly(new Membership.Outside(), new Membership.Outside(), new Membership.InEnvironment("a"));
        assertThat(snapshot.processes()).extracting(GpuProcess::excused).containsExactly(Set.of(1), Set.of(), Set.of());
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
