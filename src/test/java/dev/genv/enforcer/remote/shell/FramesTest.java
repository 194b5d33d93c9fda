package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FramesTest {
    private static final String NONCE = "5f0c";
    private static final String COMPLETE = "\n@5f0c me 7 0\n@5f0c program 0 absent\n@5f0c envs 4 4 Zm9v\n@5f0c end 4\n";

    @Test
    void parsesTheLinesOfTheAgent() throws Exception {
        var frames = Frames.parse(COMPLETE, NONCE);
        assertThat(frames.complete()).isTrue();
        assertThat(frames.one("me").words()).containsExactly("7", "0");
        assertThat(frames.one("me").number(0)).isEqualTo(7);
        assertThat(frames.one("program").from(1)).isEqualTo("absent");
        assertThat(frames.one("envs").text()).isEqualTo("foo");
        assertThat(frames.find("driver")).isEmpty();
        assertThat(frames.hasNone("driver")).isTrue();
    }

    @Test
    void ignoresOtherOutput() throws Exception {
        var noise = "Welcome!\n@0000 me 1 1\n @5f0c me 2 2\n@5f0cme 3 3\n@5f0c\n";
        var noisy = noise + "no end of line" + COMPLETE.replace("\n@5f0c envs", "\n" + noise + "@5f0c envs") + noise;
        assertThat(Frames.parse(noisy, NONCE)).isEqualTo(Frames.parse(COMPLETE, NONCE));
    }

    @Test
    void truncatedAnswerIsIncomplete() throws Exception {
        for (var length = 0; length < COMPLETE.length(); length++) {
            assertThat(Frames.parse(COMPLETE.substring(0, length), NONCE).complete())
                    .as("%d letters of it", length)
                    .isFalse();
        }
    }

    @Test
    void ignoresLinesOfAnotherRequest() throws Exception {
        assertThat(Frames.parse(COMPLETE, "5f0d").byWord()).isEmpty();
    }

    @Test
    void refusesAnswerWithAMissingLine() {
        assertUnreadable(() -> Frames.parse(COMPLETE.replace("@5f0c program 0 absent\n", ""), NONCE));
        assertUnreadable(() -> Frames.parse(COMPLETE + "@5f0c me 7 0\n", NONCE));
        assertUnreadable(() -> Frames.parse(COMPLETE + "@5f0c end 5\n", NONCE));
        assertUnreadable(() -> Frames.parse(COMPLETE.replace("end 4", "end four"), NONCE));
        assertUnreadable(() -> Frames.parse(COMPLETE.replace("end 4", "end"), NONCE));
    }

    @Test
    void refusesDuplicateOfASingleLine() throws Exception {
        var frames = Frames.parse("@5f0c me 1\n@5f0c me 2\n", NONCE);
        assertUnreadable(() -> frames.one("me"));
        assertUnreadable(() -> frames.find("me"));
        assertUnreadable(() -> frames.one("envs"));
        assertThat(frames.every("me")).hasSize(2);
    }

    @Test
    void refusesTooManyLines() {
        assertUnreadable(() -> Frames.parse("@5f0c unasked 7\n".repeat(30_000), NONCE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"envs 4 5 Zm9v", "envs 4 3 Zm9v", "envs 4 4 Zm?v", "envs 4 x Zm9v", "envs", "envs Zm9v"})
    void refusesIncompleteText(String line) {
        assertUnreadable(new Frame(line)::bytes);
    }

    @Test
    void refusesInvalidNumber() {
        var frame = new Frame("read 99999999999999999999 -1");
        assertUnreadable(() -> frame.number(0));
        assertUnreadable(() -> frame.number(2));
    }

    /** Root of one host must not take the memory that all hosts share. */
    @Test
    void doesNotSplitLineWithMillionsOfWords() throws Exception {
        var frame = Frames.parse("@5f0c alive" + " 1 22".repeat(3 << 20) + "\n", NONCE)
                .one("alive");
        assertUnreadable(frame::words);
        assertUnreadable(frame::bytes);
        assertUnreadable(frame::stream);
        assertThat(frame.at(1)).isEqualTo("22");
        assertThat(frame.pids().stream()).containsExactly(1, 22);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "4194305", "9999999999", "x", "", "1 ", " 1"})
    void refusesInvalidPid(String words) {
        assertUnreadable(new Frame("alive " + words)::pids);
    }

    @Test
    void acceptsEmptyPidList() throws Exception {
        assertThat(new Frame("alive").pids().isEmpty()).isTrue();
        assertThat(new Frame("alive 4194304").pids().stream()).containsExactly(4_194_304);
    }

    @Test
    void refusesTextAboveTheMaximumLength() throws Exception {
        assertThat(new Frame("envs 4 Zm9v").bytes(3)).hasSize(3);
        assertUnreadable(() -> new Frame("envs 4 Zm9v").bytes(2));
    }

    @Test
    void streamedTextEndsWithADot() throws Exception {
        assertThat(new Frame("memory Zm9v .").stream()).isEqualTo("foo");
        for (var line :
                List.of("memory", "memory .", "memory Zm9v", "memory Zm9v Zm9v .", "memory Zm?v .", "memory Zm9v .x")) {
            assertUnreadable(new Frame(line)::stream);
        }
    }

    private static void assertUnreadable(ThrowingCallable what) {
        assertThatThrownBy(what)
                .isInstanceOfSatisfying(
                        UnreachableException.class, e -> assertThat(e.code()).isEqualTo(ProblemCode.ANSWER_UNREADABLE));
    }
}
