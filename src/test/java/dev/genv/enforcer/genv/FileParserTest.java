package dev.genv.enforcer.genv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class FileParserTest {
    private int parsed;
    private final FileParser<String> parser = new FileParser<>(this::parse);

    private String parse(JsonNode root) throws UnreadableException {
        parsed++;
        if (!root.isTextual()) {
            throw new UnreadableException("is no text");
        }
        return root.textValue();
    }

    private static byte[] json(String text) {
        return ("\"" + text + "\"").getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void parsesEqualBytesOnce() throws UnreadableException {
        assertThat(parser.parse(json("a"))).isSameAs(parser.parse(json("a"))).isEqualTo("a");
        assertThat(parsed).isEqualTo(1);
    }

    @Test
    void parsesChangedBytes() throws UnreadableException {
        assertThat(parser.parse(json("a"))).isEqualTo("a");
        assertThat(parser.parse(json("b"))).isEqualTo("b");
        assertThat(parser.parse(json("a"))).isEqualTo("a");
        assertThat(parsed).isEqualTo(3);
    }

    @Test
    void parsesUnreadableBytesEachTime() throws UnreadableException {
        assertThat(parser.parse(json("a"))).isEqualTo("a");
        for (var attempt = 0; attempt < 2; attempt++) {
            assertThatThrownBy(() -> parser.parse(new byte[] {'1'})).hasMessage("is no text");
        }
        assertThat(parser.parse(json("a"))).isEqualTo("a");
        assertThat(parsed).isEqualTo(4);
    }

    @Test
    void keepsNoLargeFile() throws UnreadableException {
        var large = json("a".repeat(FileParser.LARGEST_KEPT));
        assertThat(parser.parse(large)).isEqualTo(parser.parse(large));
        assertThat(parsed).isEqualTo(2);
    }
}
