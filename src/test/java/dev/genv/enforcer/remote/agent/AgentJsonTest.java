package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers of a hostile machine: nothing in them is accepted that the agent does not write. */
class AgentJsonTest {
    private static final ObjectMapper PLAIN = new ObjectMapper();
    private static final JsonNode OBSERVED = tree(AgentJson.write(new Answer.Observed(SampleFacts.ALL, true, true)));
    private static final List<JsonNode> ALL = Stream.concat(
                    Stream.of(OBSERVED),
                    SampleFacts.OTHER_ANSWERS.stream().map(answer -> tree(AgentJson.write(answer))))
            .toList();
    private static final Set<String> NULLABLE = Set.of(
            "content", "other", "uid", "startTime", "waited", "holders", "stat", "name", "earlierState", "environ");

    @Test
    void readsAllFacts() throws Exception {
        assertThat(read(OBSERVED)).isEqualTo(new Answer.Observed(SampleFacts.ALL, true, true));
        for (var i = 0; i < SampleFacts.OTHER_ANSWERS.size(); i++) {
            assertThat(read(ALL.get(i + 1))).isEqualTo(SampleFacts.OTHER_ANSWERS.get(i));
        }
        assertThat(read("{\"failed\": \"there is no /proc\"}")).isEqualTo(new Answer.Failed("there is no /proc"));
    }

    @Test
    void refusesAMissingPartAnUnknownPartAndAnotherType() {
        var replacements = Stream.of("[[]]", "{\"a\": {}}", "true", "1.5", "-1", "\"x y\"", "1e40", "null")
                .map(AgentJsonTest::tree)
                .toList();
        for (var root : ALL) {
            for (var path : objects(root, "").toList()) {
                assertUnreadable(root, path, part -> part.put("more", 1), "more in " + path);
                for (var name :
                        root.at(path).propertyStream().map(Map.Entry::getKey).toList()) {
                    assertUnreadable(root, path, part -> part.remove(name), "without %s of %s".formatted(name, path));
                    var former = root.at(path).get(name);
                    replacements.stream()
                            .filter(other -> former.getNodeType() != other.getNodeType())
                            .filter(other -> !isAccepted(name, former, other))
                            .forEach(other -> assertUnreadable(
                                    root,
                                    path,
                                    part -> part.set(name, other),
                                    "%s of %s as %s".formatted(name, path, other)));
                }
            }
        }
    }

    private static void assertUnreadable(JsonNode root, String path, Consumer<ObjectNode> change, String what) {
        var answer = root.deepCopy();
        change.accept((ObjectNode) answer.at(path));
        assertUnreadable(answer, what);
    }

    /** Null where it is declared, and a value where the sample has null. */
    private static boolean isAccepted(String name, JsonNode former, JsonNode other) {
        return former.isNull() || (other.isNull() && NULLABLE.contains(name));
    }

    @Test
    void refusesNullInAList() {
        var answer = OBSERVED.deepCopy();
        ((ArrayNode) answer.at("/facts/verified")).addNull();
        assertUnreadable(answer, "null in a list");
        var other = OBSERVED.deepCopy();
        ((ArrayNode) other.at("/facts/liveness/kernels/files")).addNull();
        assertUnreadable(other, "null in a set");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "null",
                "[]",
                "{}",
                "1",
                "{\"failed\": \"a\"",
                "{\"failed\": \"a\"} {}",
                "{\"failed\": \"\\ud8\"}",
                "{\"failed\": \"\u0001\"}",
                "{\"failed\": 'a'}",
                "{\"failed\": \"a\",}",
                "{\"failed\": \"a\", \"facts\": 1}",
                "{\"facts\": {}}",
                "{\"failed\": NaN}",
                "\u00ff"
            })
    void refusesInvalidJson(String json) {
        assertThatThrownBy(() -> read(json)).isInstanceOf(LostAnswerException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "beforeState, 9223372036854775808",
        "beforeState, 9999999999999999999999999999999999999999",
        "beforeState, 1e99",
        "beforeState, LONG",
        "beforeState, -0.5",
        "limit, -1",
        "limit, 1e30",
        "limit, 1e999999999",
        "limit, '\"1\"'",
        "limit, NaN",
    })
    void refusesImpossibleNumbers(String name, String number) {
        var value = number.replace("LONG", "1".repeat(2000));
        var json = OBSERVED.toString().replaceFirst("\"%s\":[0-9.]+".formatted(name), "\"" + name + "\":" + value);
        assertThat(json).isNotEqualTo(OBSERVED.toString());
        assertThatThrownBy(() -> read(json)).isInstanceOf(LostAnswerException.class);
    }

    @Test
    void refusesDeepNesting() {
        assertThatThrownBy(() -> read("{\"facts\":" + "[".repeat(1 << 20)))
                .isInstanceOf(LostAnswerException.class)
                .hasMessageContaining("too large");
        assertThatThrownBy(() -> read("{\"a\":".repeat(1 << 20))).isInstanceOf(LostAnswerException.class);
    }

    /** A few bytes each become an object with its entry in a set. */
    @Test
    void refusesMoreObjectsThanTheHeapMayHold() {
        var files = IntStream.range(0, 1 << 20)
                .mapToObj(number -> "\"" + Integer.toString(number, 36) + "\"")
                .collect(Collectors.joining(","));
        var json = OBSERVED.toString().replaceFirst("\"files\":\\[[^]]*]", "\"files\":[" + files + "]");
        assertThatThrownBy(() -> read(json))
                .isInstanceOf(LostAnswerException.class)
                .hasMessageEndingWith("it is too large: it would take more than 32 MiB of memory");
    }

    @Test
    void acceptsTheLongestTexts() throws Exception {
        var text = "x".repeat(8 << 20);
        assertThat(read("{\"failed\": \"" + text + "\"}")).isEqualTo(new Answer.Failed(text));
    }

    @Test
    void messagesNameThePartAndQuoteItSafely() {
        var answer = OBSERVED.deepCopy();
        ((ObjectNode) answer.at("/facts/processes/0")).put("\u001b[2J" + "x".repeat(50), 1);
        assertThatThrownBy(() -> read(answer))
                .hasMessageStartingWith("its answer cannot be read: facts.processes.0.")
                .hasMessageContaining("\\u001b[2J")
                .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(630).doesNotContain("\u001b", "\n"));
    }

    private static void assertUnreadable(JsonNode answer, String what) {
        assertThat(catchThrowable(() -> read(answer))).as(what).isInstanceOf(LostAnswerException.class);
    }

    private static Answer read(JsonNode answer) throws LostAnswerException {
        return read(answer.toString());
    }

    private static Answer read(String json) throws LostAnswerException {
        return AgentJson.read(SampleFacts.bytes(json), Answer.class);
    }

    /** Returns the paths of all objects. */
    private static Stream<String> objects(JsonNode node, String path) {
        var own = node.isObject() ? Stream.of(path) : Stream.<String>empty();
        var names = node.isArray()
                ? IntStream.range(0, node.size()).mapToObj(String::valueOf)
                : node.propertyStream().map(Map.Entry::getKey);
        return Stream.concat(own, names.flatMap(name -> objects(node.at("/" + name), path + "/" + name)));
    }

    private static JsonNode tree(byte[] json) {
        return tree(new String(json, StandardCharsets.UTF_8));
    }

    private static JsonNode tree(String json) {
        try {
            return PLAIN.readTree(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
