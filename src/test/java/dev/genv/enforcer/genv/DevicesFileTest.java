package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DevicesFileTest {
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Attachment LATER = new Attachment("mine", "4g", "20/11/2026 10:00:01");
    private static final Attachment TIMELESS = new Attachment("mine", null, null);
    private static final Attachment OTHERS = new Attachment("other", null, MINE.time());
    private static final String CURRENT_FORMAT = """
        {
          "devices": [
            {
              "index": 0,
              "total_memory": "15258mi",
              "attachments": [
                {
                  "eid": "15971",
                  "gpu_memory": null,
                  "time": "20/11/2026 09:22:28"
                }
              ]
            },
            {
              "index": 1,
              "total_memory": null,
              "attachments": []
            }
          ]
        }\
        """;
    /** As before genv 0.9.0. */
    private static final String OLD_FORMAT = """
        {"devices": {"0": {"total_memory": "15258mi", "eids": {"15971":
         {"eid": "15971", "attached": "20/11/2026 09:22:28", "gpu_memory": null}}},
         "1": {"total_memory": null, "eids": {}}}}\
        """;

    private static final Device DEVICE =
            new Device(0, "15258mi", List.of(new Attachment("15971", null, "20/11/2026 09:22:28")));

    @ParameterizedTest
    @ValueSource(strings = {CURRENT_FORMAT, OLD_FORMAT})
    void readsTheCurrentAndTheOldFormat(String text) throws UnreadableException {
        var file = read(text);
        assertThat(file.devices()).containsExactly(DEVICE, new Device(1, null, List.of()));
        assertThat(file.problems()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7                                            | device ? is not an object",
                "{'attachments': []}                          | device ? has an index that is not a number from 0",
                "{'index': -1, 'attachments': []}             | device -1 has an index that is not a number from 0",
                "{'index': '1', 'attachments': []}            | device 1 has an index that is not a number from 0",
                "{'index': 4294967296, 'attachments': []}     | device 4294967296 has an index that is not a number"
                        + " from 0",
                "{'index': 1}                                 | device 1 has no array of attachments",
            })
    void invalidEntryIsReportedAndDoesNotAffectOthers(String entry, String problem) throws UnreadableException {
        var file = read("{\"devices\": [%s, {\"index\": 8, \"attachments\": []}]}".formatted(entry.replace('\'', '"')));
        assertThat(file.devices()).containsExactly(new Device(8, null, List.of()));
        assertThat(file.problems()).containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, problem));
    }

    /** Without a valid field, the processes of the environment would use a non-attached device, and be terminated. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        7                           | an attachment of device 3 is not an object
        {}                          | an attachment of device 3 has no eid
        {"eid": ""}                 | an attachment of device 3 has no eid
        {"eid": 5}                  | an attachment of device 3 has no eid
        {"eid": "b", "gpu_memory": 1} | the attachment of environment b to device 3 has a gpu_memory that is not text
        {"eid": "b", "time": 1}     | the attachment of environment b to device 3 has a time that is not text
        """)
    void invalidAttachmentOrFieldDoesNotAffectOthers(String entry, String problem) throws UnreadableException {
        var file = read("{\"devices\": [{\"index\": 3, \"attachments\": [%s, {\"eid\": \"a\"}]}]}".formatted(entry));
        var valid = new Attachment("a", null, null);
        assertThat(file.devices())
                .containsExactly(new Device(
                        3,
                        null,
                        entry.contains("b") ? List.of(valid, new Attachment("b", null, null)) : List.of(valid)));
        assertThat(file.problems()).containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, problem));
    }

    /** So a user who adds a second entry of a device neither hides the device nor removes its attachments. */
    @Test
    void duplicateDevicesAreMergedWithAllAttachments() throws UnreadableException {
        var file = read("""
            {"devices": [{"index": 1, "attachments": [{"eid": "b"}], "total_memory": 7},
                         {"index": 0, "attachments": []},
                         {"index": 1, "attachments": null},
                         {"index": 1, "attachments": [{"eid": "a"}, {"eid": "b"}], "total_memory": "5mi"},
                         {"index": 1, "attachments": [], "total_memory": "6mi"}]}\
            """);
        assertThat(file.devices())
                .containsExactly(
                        new Device(1, "5mi", List.of(new Attachment("a", null, null), new Attachment("b", null, null))),
                        new Device(0, null, List.of()));
        assertThat(file.problems())
                .extracting(Problem::detail)
                .containsExactly(
                        "device 1 has a total_memory that is not text",
                        "device 1 has no array of attachments",
                        "device 1 is there more than once");
    }

    @Test
    void problemsAreBoundedInNumberAndLength() throws UnreadableException {
        var attachments = "{\"eid\": \"a\", \"gpu_memory\": 1, \"time\": 1},".repeat(500) + "7";
        var file = read("{\"devices\": [{\"index\": \"%s\"}, {\"index\": 1, \"attachments\": [%s]}]}"
                .formatted("9".repeat(5000), attachments));
        assertThat(file.devices()).hasSize(1);
        assertThat(file.problems()).hasSize(101);
        assertThat(file.problems().getFirst().detail())
                .isEqualTo("device %s… has an index that is not a number from 0".formatted("9".repeat(40)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "null", "{\"devices\": \"x\"}", "{\"envs\": []}"})
    void refusesUnknownFormats(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"devices\"");
    }

    private static DevicesFile read(String text) throws UnreadableException {
        return DevicesFile.of(GenvJson.read(text.getBytes(UTF_8)));
    }

    @Test
    void removesOnlyTheGivenAttachment() throws UnreadableException {
        var before = files().device(0, MINE, OTHERS, LATER, TIMELESS).device(1, MINE);
        assertThat(without(json(before), 0, MINE))
                .contains(json(files().device(0, OTHERS, LATER, TIMELESS).device(1, MINE)));
        assertThat(without(json(before), 0, TIMELESS))
                .contains(json(files().device(0, MINE, OTHERS, LATER).device(1, MINE)));
        assertThat(without(json(before), 1, MINE))
                .contains(json(files().device(0, MINE, OTHERS, LATER, TIMELESS).device(1)));
    }

    @ParameterizedTest
    @CsvSource({
        "0, nobody, 20/11/2026 10:00:00",
        "0, mine, 20/11/2026 10:00:02",
        "0, mine,",
        "2, mine, 20/11/2026 10:00:00"
    })
    void removesNothingWhenTheAttachmentIsMissing(int device, String eid, String time) throws UnreadableException {
        var before = json(files().device(0, MINE, OTHERS).device(1, MINE));
        assertThat(without(before, device, new Attachment(eid, "4g", time))).isEmpty();
    }

    /** An attachment with an invalid time differs from one without a time. */
    @Test
    void preservesUnknownContent() throws UnreadableException {
        var text = """
            {"version": 123456789012345678901234567890, "devices": [
              7,
              {"index": "0", "attachments": [{"eid": "mine", "time": null}]},
              {"index": 0, "colour": "\\u00fc", "attachments": [null, {"eid": "mine", "time": 5}%s]}]}\
            """;
        var before = text.formatted(", {\"time\": null, \"more\": {}, \"eid\": \"mine\"}");
        assertThat(without(GenvJson.read(before.getBytes(UTF_8)), 0, TIMELESS))
                .contains(GenvJson.read(text.formatted("").getBytes(UTF_8)));
    }

    private static Optional<JsonNode> without(JsonNode root, int device, Attachment attachment)
            throws UnreadableException {
        var place = new DevicesFile.AttachmentId(device, attachment);
        var copy = root.deepCopy();
        var removed = DevicesFile.remove(copy, Set.of(place));
        assertThat(removed).isSubsetOf(place);
        return removed.isEmpty() ? Optional.empty() : Optional.of(copy);
    }

    private static JsonNode json(StateFiles files) throws UnreadableException {
        return GenvJson.read(files.devicesJson().getBytes(UTF_8));
    }

    private static StateFiles files() {
        return new StateFiles(Path.of("unused"));
    }
}
