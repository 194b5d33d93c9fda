package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The formats of genv's two state files. */
class StateFilesTest {
    /** As before genv 0.9.0. */
    private static final String OLD_FORMAT = """
        {"envs": {"15971": {"uid": 0, "creation": "20/11/2026 09:22:28", "username": "root",
         "config": {"name": null, "gpu_memory": "4g", "gpus": 1}, "pids": [15971]}}}\
        """;

    private static final Environment ENVIRONMENT = new Environment(
            "15971",
            0L,
            "root",
            "20/11/2026 09:22:28",
            new Environment.Config(null, "4g", 1),
            List.of(15971),
            List.of());

    @Test
    void readsTheFormatOfGenv() throws UnreadableException {
        var file =
                read(files().env("15971", 0, "root", "4g", 15971).envsJson().replace("\"gpus\": null", "\"gpus\": 1"));
        assertThat(file.environments()).containsExactly(ENVIRONMENT);
        assertThat(file.problems()).isEmpty();
    }

    /** genv itself does not read it any more. What is read can be detached. */
    @Test
    void refusesTheFormatBeforeGenv090() {
        assertThatThrownBy(() -> read(OLD_FORMAT)).hasMessage("has the form before genv 0.9.0");
        assertThatThrownBy(() -> devices(OLD_DEVICES)).hasMessage("has the form before genv 0.9.0");
        assertThatThrownBy(() -> without(OLD_DEVICES, 0, new Attachment("15971", null, StateFiles.TIME)))
                .hasMessage("has the form before genv 0.9.0");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7                                  | an environment is not an object",
                "{'uid': 1, 'pids': []}             | an environment has no eid",
                "{'eid': '', 'uid': 1, 'pids': []}  | an environment has no eid",
                "{'eid': 4, 'uid': 1, 'pids': []}   | an environment has no eid",
            })
    void entryWithoutIdDoesNotAffectOthers(String entry, String problem) throws UnreadableException {
        var file = read("{\"envs\": [%s, %s]}".formatted(entry.replace('\'', '"'), """
            {"eid": "good", "uid": 1, "pids": []}\
            """));
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("good");
        assertThat(file.problems()).containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, problem));
    }

    /** Otherwise a user could protect an environment, or deprive another user of one, with an invalid field. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        uid        | null                  | has a uid that is not a user's number
        uid        | -1                    | has a uid that is not a user's number
        uid        | 4294967296            | has a uid that is not a user's number
        uid        | "0"                   | has a uid that is not a user's number
        pids       | null                  | has no array of pids
        pids       | 7                     | has no array of pids
        pids       | [[]]                  | has a pid that is not a whole number
        pids       | [7, 1.5, 2147483648, "x", null] | has a pid that is not a whole number
        kernel_ids | null                  | has no array of kernel_ids
        kernel_ids | [7]                   | has a kernel id that is not text
        username   | 1                     | has a username that is not text
        creation   | []                    | has a creation that is not text
        config     | []                    | has a config that is not an object
        config     | {"gpus": "x"}         | has a gpus that is not a whole number
        config     | {"gpu_memory": 4}     | has a gpu_memory that is not text
        config     | {"name": {}}          | has a name that is not text
        """)
    void environmentWithInvalidFieldIsKept(String field, String value, String problem) throws UnreadableException {
        // The last of two fields with the same name counts.
        var file =
                read("{\"envs\": [{\"eid\": \"b\", \"uid\": 1, \"pids\": [7], \"%s\": %s}]}".formatted(field, value));
        assertThat(file.environments())
                .containsExactly(new Environment(
                        "b",
                        field.equals("uid") ? null : 1L,
                        null,
                        "",
                        new Environment.Config(null, null, null),
                        field.equals("pids") && !value.startsWith("[7") ? List.of() : List.of(7),
                        List.of()));
        assertThat(file.problems())
                .containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, "environment b " + problem));
    }

    @Test
    void tooLongTextIsNotKept() throws UnreadableException {
        var file = read(
                "{\"envs\": [{\"eid\": \"%1$s\"}, {\"eid\": \"b\", \"uid\": 1, \"pids\": [], \"username\": \"%1$s\"}]}"
                        .formatted("x".repeat(5000)));
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("b");
        assertThat(file.problems())
                .extracting(Problem::detail)
                .containsExactly(
                        "an environment has a eid longer than 4096 characters",
                        "environment b has a username longer than 4096 characters");
    }

    @ParameterizedTest
    @ValueSource(strings = {"[]", "null", "{\"envs\": 1, \"devices\": \"x\"}", "{}"})
    void refusesUnknownFormats(String text) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"envs\"");
        assertThatThrownBy(() -> devices(text))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"devices\"");
    }

    private static EnvsFile read(String text) throws UnreadableException {
        return EnvsFile.of(GenvJson.read(text.getBytes(UTF_8)));
    }

    @Test
    void duplicateEntriesAreMergedInFavourOfTheEnvironment() throws UnreadableException {
        var file = read("""
            {"envs": [{"eid": "a", "uid": 1, "username": "ann", "pids": [4, 5], "config": {"gpu_memory": "900m"}},
                      {"eid": "b", "uid": 1, "pids": []},
                      {"eid": "a", "uid": 1, "username": "ann", "pids": [5, 6], "config": {"gpu_memory": "1g"},
                       "kernel_ids": ["k"]}]}\
            """);
        assertThat(file.environments()).extracting(Environment::eid).containsExactly("a", "b");
        assertThat(file.environments().getFirst())
                .isEqualTo(new Environment(
                        "a", 1L, "ann", "", new Environment.Config(null, "1g", null), List.of(4, 5, 6), List.of("k")));
        assertThat(file.problems())
                .containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, "environment a is there more than once"));
    }

    /** A user who adds a capacity, or makes one unreadable, must not put another user's environment over its capacity. */
    @ParameterizedTest
    @ValueSource(strings = {"{}", "null", "[]", "{\"gpu_memory\": null}", "{\"gpu_memory\": \"much\"}"})
    void capacityAppliesOnlyWhenAllEntriesHaveOne(String config) throws UnreadableException {
        var file = read("""
            {"envs": [{"eid": "a", "uid": 1, "pids": [], "config": {"gpu_memory": "1m"}},
                      {"eid": "a", "uid": 1, "pids": [], "config": %s},
                      {"eid": "a", "uid": 1, "pids": [], "config": {"gpu_memory": "2m"}}]}\
            """.formatted(config));
        assertThat(file.environments())
                .singleElement()
                .satisfies(merged -> assertThat(merged.capacity()).isEmpty());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"uid\": 2, \"username\": \"ann\"",
                "\"uid\": 1, \"username\": \"bob\"",
                "\"uid\": 1, \"username\": null",
                "\"uid\": \"x\", \"username\": \"ann\"",
            })
    void entriesWithDifferentOwnersAreDisputed(String owner) throws UnreadableException {
        var file = read("""
            {"envs": [{"eid": "a", "uid": 1, "username": "ann", "pids": []}, {"eid": "a", "pids": [], %s},
                      {"eid": "a", "uid": 1, "username": "ann", "pids": []}]}\
            """.formatted(owner));
        assertThat(file.environments()).singleElement().satisfies(merged -> {
            assertThat(merged.ownership().isDisputed()).isTrue();
            assertThat(merged.uid()).isNull();
            assertThat(merged.username()).isNull();
        });
    }

    // devices.json

    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Attachment LATER = new Attachment("mine", "4g", "20/11/2026 10:00:01");
    private static final Attachment TIMELESS = new Attachment("mine", null, null);
    private static final Attachment OTHERS = new Attachment("other", null, MINE.time());
    /** As before genv 0.9.0. */
    private static final String OLD_DEVICES = """
        {"devices": {"0": {"total_memory": "15258mi", "eids": {"15971":
         {"eid": "15971", "attached": "20/11/2026 09:22:28", "gpu_memory": null}}},
         "1": {"total_memory": "15258mi", "eids": {}}}}\
        """;

    @Test
    void readsTheFormatOfGenvForDevices() throws UnreadableException {
        var file = devices(files().device(0, "15971").device(1).devicesJson());
        var attachment = new Attachment("15971", null, StateFiles.TIME);
        assertThat(file.devices())
                .containsExactly(new Device(0, "15258mi", List.of(attachment)), new Device(1, "15258mi", List.of()));
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
        var file =
                devices("{\"devices\": [%s, {\"index\": 8, \"attachments\": []}]}".formatted(entry.replace('\'', '"')));
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
        """)
    void invalidAttachmentOrFieldDoesNotAffectOthers(String entry, String problem) throws UnreadableException {
        var file = devices("{\"devices\": [{\"index\": 3, \"attachments\": [%s, {\"eid\": \"a\"}]}]}".formatted(entry));
        var valid = new Attachment("a", null, null);
        assertThat(file.devices())
                .containsExactly(new Device(
                        3,
                        null,
                        entry.contains("b") ? List.of(valid, new Attachment("b", null, null)) : List.of(valid)));
        assertThat(file.problems()).containsExactly(new Problem(ProblemCode.ENTRY_UNREADABLE, problem));
    }

    /** The value identifies the attachment, so that it can be detached. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        5                           | 5                                 | is not text
        [{"a": 1.50}]               | [{"a":1.50}]                      | is not text
        false                       | false                             | is not text
        {LONG}                      | sha256:[0-9a-f]{64}               | longer than 4096 characters
        {"a": {LONG}}               | sha256:[0-9a-f]{64}               | is not text
        """)
    void attachmentWithAnInvalidTimeCountsAndCanBeRemoved(String time, String known, String problem)
            throws UnreadableException {
        var recorded = time.replace("{LONG}", "\"" + "x".repeat(5000) + "\"");
        var text = """
            {"devices": [{"index": 3, "attachments": [{"eid": "b", "time": "%s"}, {"eid": "b", "time": null},
              {"eid": "b", "time": %s}, {"eid": "a", "time": %s}]}]}\
            """.formatted(StateFiles.TIME, recorded, recorded);
        var file = devices(text);
        assertThat(file.problems())
                .hasSize(2)
                .allSatisfy(one -> assertThat(one.detail()).contains(problem));
        var attachment = file.devices().getFirst().attachments().stream()
                .filter(one -> one.eid().equals("b")
                        && one.time() != null
                        && !one.time().equals(StateFiles.TIME))
                .findFirst()
                .orElseThrow();
        assertThat(attachment.time()).matches(known.startsWith("sha256") ? known : Pattern.quote(known));
        assertThat(attachment.attachedAt()).isEqualTo(LocalDateTime.MIN);
        assertThat(without(text, 3, attachment)).contains("""
            {"devices": [{"index": 3, "attachments": [{"eid": "b", "time": "%s"}, {"eid": "b", "time": null},
              {"eid": "a", "time": %s}]}]}\
            """.formatted(StateFiles.TIME, recorded));
    }

    /** Every user can write such an entry. */
    @Test
    void attachmentsThatAreNoArrayHideNoOthersFromRemoval() throws UnreadableException {
        var text = """
            {"devices": [{"index": 9, "attachments": {"a": 1}}, {"index": 3, "attachments": [{"eid": "b", "time": null}]}]}\
            """;
        var attachment = devices(text).devices().stream()
                .flatMap(device -> device.attachments().stream())
                .findFirst()
                .orElseThrow();
        assertThat(without(text, 3, attachment)).contains("""
            {"devices": [{"index": 9, "attachments": {"a": 1}}, {"index": 3, "attachments": []}]}\
            """);
    }

    /** So a user who adds a second entry of a device neither hides the device nor removes its attachments. */
    @Test
    void duplicateDevicesAreMergedWithAllAttachments() throws UnreadableException {
        var file = devices("""
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
        var file = devices("{\"devices\": [{\"index\": \"%s\"}, {\"index\": 1, \"attachments\": [%s]}]}"
                .formatted("9".repeat(5000), attachments));
        assertThat(file.devices()).hasSize(1);
        assertThat(file.problems()).hasSize(101);
        assertThat(file.problems().getFirst().detail())
                .isEqualTo("device %s… has an index that is not a number from 0".formatted("9".repeat(40)));
    }

    private static DevicesFile devices(String text) throws UnreadableException {
        return DevicesFile.of(GenvJson.read(text.getBytes(UTF_8)));
    }

    @Test
    void removesOnlyTheGivenAttachmentInTheFormOfGenv() throws UnreadableException {
        var before = files().device(0, MINE, OTHERS, LATER, TIMELESS).device(1, MINE);
        assertThat(without(before.devicesJson(), 0, MINE))
                .contains(files().device(0, OTHERS, LATER, TIMELESS)
                        .device(1, MINE)
                        .devicesJson());
        assertThat(without(before.devicesJson(), 0, TIMELESS))
                .contains(files().device(0, MINE, OTHERS, LATER).device(1, MINE).devicesJson());
        assertThat(without(before.devicesJson(), 1, MINE))
                .contains(files().device(0, MINE, OTHERS, LATER, TIMELESS)
                        .device(1)
                        .devicesJson());
    }

    /** Every set of the attachments of two devices. */
    @Test
    void removesAnyAttachmentsInTheFormOfGenv() throws UnreadableException {
        var attachments = List.of(MINE, OTHERS, LATER, TIMELESS);
        var before = files().device(0, MINE, OTHERS, LATER, TIMELESS).device(1, MINE, OTHERS, LATER, TIMELESS);
        for (var bits = 0; bits < 256; bits++) {
            var places = new HashSet<DevicesFile.AttachmentId>();
            var after = files();
            for (var device = 0; device < 2; device++) {
                var rest = new ArrayList<Attachment>();
                for (var place = 0; place < attachments.size(); place++) {
                    if ((bits >> (4 * device + place) & 1) == 0) {
                        rest.add(attachments.get(place));
                    } else {
                        places.add(new DevicesFile.AttachmentId(device, attachments.get(place)));
                    }
                }
                after.device(device, rest.toArray(Attachment[]::new));
            }
            var removal = DevicesFile.remove(before.devicesJson().getBytes(UTF_8), places);
            assertThat(removal.removed()).isEqualTo(places);
            assertThat(removal.text()).isEqualTo(after.devicesJson());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0, nobody, 20/11/2026 10:00:00",
        "0, mine, 20/11/2026 10:00:02",
        "0, mine,",
        "2, mine, 20/11/2026 10:00:00"
    })
    void removesNothingWhenTheAttachmentIsMissing(int device, String eid, String time) throws UnreadableException {
        var before = files().device(0, MINE, OTHERS).device(1, MINE).devicesJson();
        assertThat(without(before, device, new Attachment(eid, "4g", time))).isEmpty();
    }

    /** Also fields that are there twice, of which the last one counts, and white space. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        {"version": 1e5, "devices": [7, {"index": "0", "attachments": [{"eid": "mine", "time": null}]}, {"index": 0, "colour": "\\u00fcü😀", "attachments": [null, {"eid": "mine", "time": 5}<, {"time": null, "more": {}, "eid": "mine"}>]}]}
        {"devices": [{"attachments":[<{"eid":"mine"},>7 , [] ,"x"<,{"eid":"mine"}>] , "index":0}]}
        ^{"devices": [{"attachments":[  <{"eid":"mine"} ,  >7  <,  {"eid" : "mine"}> ] , "index":0}]} ^
        {"devices": [{"attachments":[<  {"eid":"mine"} , {"eid":"mine"} >], "index": 0}]}
        {"devices": [{"attachments":[{"eid":"mine"}], "index": 0, "attachments":[<{"eid":"mine"},>{"eid":"others"}]}]}
        {"devices": [{"index": 0, "attachments":[{"eid":"mine"}]}], "devices": [{"index": 0, "attachments":[<{"eid":"mine"}>]}, {"index": 1, "attachments": 7}], "a": [{"index": 0, "attachments":[{"eid":"mine"}]}]}
        {"devices": [{"index": 0, "attachments":[<{"eid":"mine", "gpu_memory": "],{\\"}"}>]}, {"index": 0, "attachments":[{"eid":"a"}<, {"eid":"mine"}>]}]}
        """)
    void allOtherBytesStay(String text) throws UnreadableException {
        var before = text.replace("<", "").replace(">", "");
        assertThat(without(before, 0, TIMELESS)).contains(text.replaceAll("<[^>]*>", ""));
    }

    private static Optional<String> without(String text, int device, Attachment attachment) throws UnreadableException {
        var place = new DevicesFile.AttachmentId(device, attachment);
        var removal = DevicesFile.remove(text.getBytes(UTF_8), Set.of(place));
        assertThat(removal.removed()).isSubsetOf(place);
        var rest = removal.text();
        if (removal.removed().isEmpty()) {
            assertThat(rest).isEqualTo(text);
        }
        return removal.removed().isEmpty() ? Optional.empty() : Optional.of(rest);
    }

    private static StateFiles files() {
        return new StateFiles(Path.of("unused"));
    }
}
