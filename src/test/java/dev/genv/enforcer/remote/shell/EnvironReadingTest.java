package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class EnvironReadingTest {
    private static final String NONCE = "0123456789abcdef0123456789abcdef";
    private static final String VARIABLE = "GENV_ENVIRONMENT_ID=";
    private static final String END = VARIABLE + "@" + NONCE + "\0";
    private static final Membership NOT_OBSERVED =
            new Membership.Unknown("its environ is not available at this moment");

    @Test
    void usesTheLastEntry() throws Exception {
        assertThat(membership("")).isEqualTo(new Membership.Outside());
        assertThat(membership(VARIABLE + "\0")).isEqualTo(new Membership.Outside());
        assertThat(membership(VARIABLE + "a\0" + VARIABLE + "b\0")).isEqualTo(inEnvironment("b"));
        assertThat(membership(VARIABLE + "a\0" + VARIABLE + "\0")).isEqualTo(new Membership.Outside());
    }

    @Test
    void acceptsAnyCharacterInAnId() throws Exception {
        assertThat(membership(VARIABLE + "a\nb\n\0")).isEqualTo(inEnvironment("a\nb\n"));
        assertThat(membership(VARIABLE + "@" + NONCE.replace('0', '1') + "\0"))
                .isEqualTo(inEnvironment("@" + NONCE.replace('0', '1')));
        assertThat(membership(VARIABLE + "ä\0".translateEscapes())).isEqualTo(inEnvironment("ä"));
        assertThat(EnvironReading.membership(VARIABLE + "\u00ff\0")).isEqualTo(inEnvironment("not-utf-8:ff"));
    }

    /** Older programs of that name take what stands behind a line's end for a beginning. */
    @Test
    void ignoresEntriesWithAnotherName() throws Exception {
        assertThat(membership(VARIABLE + "a\0X=1\n" + VARIABLE + "b\0")).isEqualTo(inEnvironment("a"));
    }

    @Test
    void tooLongIdMatchesNoEnvironment() throws Exception {
        var records = "x".repeat(8400 - END.length() - 1) + "\0";
        assertThat(membership(records))
                .isInstanceOfSatisfying(
                        Membership.InEnvironment.class,
                        in -> assertThat(in.eid()).startsWith("too-long:xxx"));
        assertThat(membership("x".repeat(4000) + "\0")).isEqualTo(new Membership.Outside());
        assertThat(membership(records.substring(0, 4000) + "\0" + VARIABLE + "b\0"))
                .isEqualTo(inEnvironment("b"));
    }

    @Test
    void readingWithoutEndMarkerIsUnreadable() throws Exception {
        for (var text : List.of("", VARIABLE + "a\0", VARIABLE + "a\0" + END.substring(1), "x" + END, END + "\0")) {
            assertThat(reading(environ(text)).membership())
                    .as(text)
                    .isEqualTo(new Membership.Unknown("its environ cannot be read"));
        }
    }

    @Test
    void processThatDoesNotAnswerIsSilent() throws Exception {
        var whole = environ(VARIABLE + "a\0" + END);
        var cut = whole.substring(0, whole.indexOf("@" + NONCE + " after"));
        assertThat(reading(cut).membership()).isEqualTo(EnvironReading.SILENT);
        assertThat(reading(cut).hasAnswered()).isFalse();
        assertThat(reading(whole).membership()).isEqualTo(inEnvironment("a"));
        assertThat(reading(whole).hasAnswered()).isTrue();
    }

    @Test
    void deniedReadingHasUnknownMembership() throws Exception {
        var denied = environ("").replace("\n@" + NONCE + " after", "@" + NONCE + " denied 7\n\n@" + NONCE + " after");
        assertThat(reading(denied).membership()).isEqualTo(Membership.NOT_PERMITTED);
    }

    /** The kernel shows an empty environment then, and that is no answer. */
    @Test
    void exitingOrExecutingProcessIsNotObserved() throws Exception {
        var text = environ(END);
        assertThat(reading(text).membership()).isEqualTo(new Membership.Outside());
        assertThat(reading(text.replace(" 99 0 ", " 0 0 ")).membership()).isEqualTo(NOT_OBSERVED);
        assertThat(reading(text.replaceFirst(" 99 0 ", " 98 0 ")).membership()).isEqualTo(NOT_OBSERVED);
        assertThat(reading(text.replaceFirst(" 1000 ", " 1001 ")).membership()).isEqualTo(NOT_OBSERVED);
        assertThat(reading(text.replaceFirst("\\) S", ") Z")).membership()).isEqualTo(NOT_OBSERVED);
        assertThat(reading(text.replace(") S", ") X")).membership()).isEqualTo(NOT_OBSERVED);
        assertThat(reading(text.replaceFirst("7 \\(sleep\\) S.*\n", "")).membership())
                .isEqualTo(NOT_OBSERVED);
    }

    @Test
    void identifiesProgramByNameOrFile() throws Exception {
        var environ = environ(END);
        assertThat(program(environ)).isEqualTo(new EnvironReading.Program(false, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 yes\n")).isEqualTo(new EnvironReading.Program(true, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 yes\n@" + NONCE + " exe 7 none\n"))
                .isEqualTo(new EnvironReading.Program(true, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 no\n@" + NONCE + " exe 7 none\n"))
                .isEqualTo(new EnvironReading.Program(false, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 no\n@" + NONCE + " exe 7 2049:12\n"))
                .isEqualTo(new EnvironReading.Program(true, "2049:12"));
    }

    @Test
    void usesTheCompleteOneOfSeveralReadings() throws Exception {
        var whole = environ(VARIABLE + "a\0" + END) + "@" + NONCE + " read 7\n";
        var cut = environ(VARIABLE + "b\0" + END);
        assertThat(Objects.requireNonNull(readings(cut, whole).get(7)).membership())
                .isEqualTo(inEnvironment("a"));
        assertThat(Objects.requireNonNull(readings(whole, cut).get(7)).membership())
                .isEqualTo(inEnvironment("a"));
        assertThat(readings(whole, whole.replace(" 7\n", " 8\n")).keySet()).containsExactlyInAnyOrder(7, 8);
    }

    private static EnvironReading.Program program(String text) throws Exception {
        return reading(text).program();
    }

    private static Membership inEnvironment(String eid) {
        return new Membership.InEnvironment(eid);
    }

    private static Membership membership(String records) throws Exception {
        var bytes = new String(records.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        return reading(environ(bytes + END)).membership();
    }

    private static String environ(String content) {
        var stat = "7 (sleep) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 1000" + " 5".repeat(27) + " 98 99 0 \n";
        return "@%1$s before 7\n%2$s@%1$s environ 7\n%3$s\n@%1$s after 7\n%2$s".formatted(NONCE, stat, content);
    }

    private static EnvironReading reading(String text) throws Exception {
        return Objects.requireNonNull(readings(text).get(7));
    }

    private static Map<Integer, EnvironReading> readings(String... texts) throws Exception {
        var frames = new ArrayList<Frame>();
        for (var text : texts) {
            var base64 = Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.ISO_8859_1));
            frames.add(new Frame("memory %s .".formatted(base64)));
        }
        return EnvironReading.in(frames, NONCE);
    }
}
