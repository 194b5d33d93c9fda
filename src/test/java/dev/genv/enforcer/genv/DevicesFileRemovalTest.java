package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The removal of one attachment from {@code devices.json}. */
class DevicesFileRemovalTest {
    private static final Attachment MINE = new Attachment("mine", "4g", "20/11/2026 10:00:00");
    private static final Attachment LATER = new Attachment("mine", "4g", "20/11/2026 10:00:01");
    private static final Attachment TIMELESS = new Attachment("mine", null, null);
    private static final Attachment OTHERS = new Attachment("other", null, MINE.time());

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

    @Test
    void removesThousandsOfAttachmentsAtOnce() throws UnreadableException {
        var attachments = IntStream.range(0, 30_000)
                .mapToObj(i -> new Attachment(Integer.toString(i), null, MINE.time()))
                .toArray(Attachment[]::new);
        var root = json(files().device(0, attachments));
        var places = Arrays.stream(attachments)
                .map(attachment -> new DevicesFile.AttachmentId(0, attachment))
                .collect(Collectors.toSet());
        assertThat(DevicesFile.remove(root, places)).isEqualTo(places);
        assertThat(root).isEqualTo(json(files().device(0)));
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
            {
              "version": 123456789012345678901234567890,
              "devices": [
                7,
                {
                  "index": "0",
                  "attachments": [
                    {
                      "eid": "mine",
                      "time": null
                    }
                  ]
                },
                {
                  "index": 0,
                  "colour": "\\u00fc",
                  "attachments": [
                    null,
                    {
                      "eid": "mine",
                      "time": 5
                    }%s
                  ]
                }
              ]
            }\
            """;
        var mine = """
            ,
                    {
                      "time": null,
                      "more": {},
                      "eid": "mine"
                    }\
            """;
        var after = without(GenvJson.read(text.formatted(mine).getBytes(UTF_8)), 0, TIMELESS);
        assertThat(after)
                .hasValueSatisfying(json ->
                        assertThat(new String(GenvJson.write(json), UTF_8)).isEqualTo(text.formatted("")));
    }

    @Test
    void refusesTheFormatBeforeGenv090() {
        assertThatThrownBy(() -> without(GenvJson.read("""
            {"devices": {"0": {"total_memory": "1mi", "eids": {"mine":
             {"eid": "mine", "attached": "20/11/2026 10:00:00", "gpu_memory": "4g"}}}}}\
            """.getBytes(UTF_8)), 0, MINE))
                .isInstanceOf(UnreadableException.class)
                .hasMessageContaining("before genv 0.9.0");
    }

    @Test
    void refusesUnknownFormats() {
        assertThatThrownBy(() -> without(GenvJson.read("{}".getBytes(UTF_8)), 0, MINE))
                .isInstanceOf(UnreadableException.class)
                .hasMessage("has no \"devices\"");
    }

    private static Optional<JsonNode> without(JsonNode root, int device, Attachment attachment)
            throws UnreadableException {
        var place = new DevicesFile.AttachmentId(device, attachment);
        var copy = root.deepCopy();
        var removed = DevicesFile.remove(copy, Set.of(place));
        assertThat(removed).isSubsetOf(place);
        return removed.isEmpty() ? Optional.empty() : Optional.of(copy);
    }

    private static StateFiles files() {
        return new StateFiles(Path.of("unused"));
    }

    private static JsonNode json(StateFiles files) throws UnreadableException {
        return GenvJson.read(files.devicesJson().getBytes(UTF_8));
    }
}
