package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AgentOutputTest {
    private static final String NONCE = "5f0c";
    private static final String JSON = "{\"failed\": \"there is no /proc\"}";
    private static final String ANSWER = answer(JSON);
    private static final String COMPLETE = "@5f0c begun 0\n@5f0c begun 7\n" + ANSWER;

    static String answer(String json) {
        return "@%s %s %s\n".formatted(NONCE, json, checksum(json));
    }

    private static String checksum(String json) {
        return AgentOutput.checksum(json.getBytes(StandardCharsets.ISO_8859_1));
    }

    @Test
    void findsTheAnswerAndWhatWasBegun() throws Exception {
        var output = AgentOutput.parse(COMPLETE, NONCE);
        assertThat(output.begun()).containsExactlyInAnyOrder(0, 7);
        assertThat(json(output)).isEqualTo(JSON);
    }

    @Test
    void ignoresOtherOutput() throws Exception {
        var noise = "Welcome!\n@0000 {} 00\n@5f0cbegun 3\n@5f0c\n{}\n";
        for (var output : new String[] {
            noise + COMPLETE + noise,
            COMPLETE.replace("\n", "\n" + noise),
            "no end of line" + COMPLETE + "no end of line",
            "\0\u00ff\r\n" + COMPLETE.replace("\n", "\n\0")
        }) {
            assertThat(json(AgentOutput.parse(output, NONCE))).as(output).isEqualTo(JSON);
            assertThat(AgentOutput.parse(output, NONCE).begun()).as(output).hasSize(2);
        }
    }

    @Test
    void truncatedAnswerIsMissing() throws Exception {
        for (var length = 0; length < COMPLETE.length(); length++) {
            assertThat(AgentOutput.parse(COMPLETE.substring(0, length), NONCE).json())
                    .as("%d bytes of it", length)
                    .isNull();
        }
    }

    @Test
    void answerWithoutItsBeginningIsNotRead() {
        for (var start = 1; start < ANSWER.length() - 1; start++) {
            var cut = "@5f0c " + ANSWER.substring(Math.max(start, "@5f0c ".length() + 1));
            assertThatThrownBy(() -> AgentOutput.parse(cut, NONCE)).isInstanceOf(LostAnswerException.class);
        }
    }

    @Test
    void anyChangedByteIsDetected() {
        for (var at = "@5f0c ".length(); at < ANSWER.length() - 1; at++) {
            var changed = ANSWER.substring(0, at) + (char) (ANSWER.charAt(at) ^ 1) + ANSWER.substring(at + 1);
            assertThatThrownBy(() -> AgentOutput.parse(changed, NONCE))
                    .as(changed)
                    .isInstanceOf(LostAnswerException.class);
        }
    }

    @Test
    void ignoresTheAnswerToAnotherRequest() throws Exception {
        var output = AgentOutput.parse(COMPLETE, "5f0d");
        assertThat(output.json()).isNull();
        assertThat(output.begun()).isEmpty();
    }

    @Test
    void refusesWhatFollowsTheAnswer() {
        for (var more : new String[] {ANSWER, "@5f0c begun 1\n", "@5f0c \n"}) {
            assertThatThrownBy(() -> AgentOutput.parse(ANSWER + more, NONCE))
                    .isInstanceOf(LostAnswerException.class)
                    .hasMessageEndingWith("it continues after its end");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"begun ", "begun x", "begun -1", "begun 1 2", "begun 9999999999", "{}", "{} ", "", "ended"})
    void refusesInvalidLines(String line) {
        assertThatThrownBy(() -> AgentOutput.parse("@5f0c " + line + "\n", NONCE))
                .isInstanceOf(LostAnswerException.class);
    }

    @Test
    void millionsOfMarksAreReadOnce() throws Exception {
        var marks = "@5f0c begun 1\n".repeat(1 << 20);
        assertThat(AgentOutput.parse(marks + ANSWER, NONCE).begun()).containsExactly(1);
        assertThat(AgentOutput.parse("@5f0c ".repeat(1 << 20), NONCE).json()).isNull();
    }

    private static String json(AgentOutput output) {
        return Objects.requireNonNull(output.json()).text();
    }
}
