package dev.genv.enforcer.genv;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.util.HexFormat;
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
}
