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

class RecollectionTest {
    private static final String NONCE = "0123456789abcdef0123456789abcdef";
    private static final String VARIABLE = "GENV_ENVIRONMENT_ID=";
    private static final String END = VARIABLE + "@" + NONCE + "\0";
    private static final Membership UNSEEN = new Membership.Unknown("its environment cannot be seen at this moment");

    @Test
    void theLastEntryCounts() throws Exception {
        assertThat(membership("")).isEqualTo(new Membership.Outside());
        assertThat(membership(VARIABLE + "\0")).isEqualTo(new Membership.Outside());
        assertThat(membership(VARIABLE + "a\0" + VARIABLE + "b\0")).isEqualTo(in("b"));
        assertThat(membership(VARIABLE + "a\0" + VARIABLE + "\0")).isEqualTo(new Membership.Outside());
    }

    @Test
    void anIdMayHoldAnything() throws Exception {
        assertThat(membership(VARIABLE + "a\nb\n\0")).isEqualTo(in("a\nb\n"));
        assertThat(membership(VARIABLE + "@" + NONCE.replace('0', '1') + "\0"))
                .isEqualTo(in("@" + NONCE.replace('0', '1')));
        assertThat(membership(VARIABLE + "ä\0".translateEscapes())).isEqualTo(in("ä"));
        assertThat(Recollection.membership(VARIABLE + "\u00ff\0")).isEqualTo(in("not-utf-8:ff"));
    }

    /** Older programs of that name take what stands behind a line's end for a beginning. */
    @Test
    void whatDoesNotBeginWithTheNameIsNoEntry() throws Exception {
        assertThat(membership(VARIABLE + "a\0X=1\n" + VARIABLE + "b\0")).isEqualTo(in("a"));
    }

    @Test
    void oneThatIsTooLongIsOneThatNobodyHas() throws Exception {
        var records = "x".repeat(8400 - END.length() - 1) + "\0";
        assertThat(membership(records))
                .isInstanceOfSatisfying(
                        Membership.InEnvironment.class,
                        in -> assertThat(in.eid()).startsWith("too-long:xxx"));
        assertThat(membership("x".repeat(4000) + "\0")).isEqualTo(new Membership.Outside());
        assertThat(membership(records.substring(0, 4000) + "\0" + VARIABLE + "b\0"))
                .isEqualTo(in("b"));
    }

    @Test
    void withoutOursAtItsEndItIsNotWhole() throws Exception {
        for (var text : List.of("", VARIABLE + "a\0", VARIABLE + "a\0" + END.substring(1), "x" + END, END + "\0")) {
            assertThat(of(environ(text)).membership())
                    .as(text)
                    .isEqualTo(new Membership.Unknown("its environment cannot be read"));
        }
    }

    @Test
    void whoDidNotAnswerIsSilent() throws Exception {
        var whole = environ(VARIABLE + "a\0" + END);
        var cut = whole.substring(0, whole.indexOf("@" + NONCE + " after"));
        assertThat(of(cut).membership()).isEqualTo(Recollection.SILENT);
        assertThat(of(cut).hasAnswered()).isFalse();
        assertThat(of(whole).membership()).isEqualTo(in("a"));
        assertThat(of(whole).hasAnswered()).isTrue();
    }

    @Test
    void whatMayNotBeReadIsNotKnown() throws Exception {
        var denied = environ("").replace("\n@" + NONCE + " after", "@" + NONCE + " denied 7\n\n@" + NONCE + " after");
        assertThat(of(denied).membership()).isEqualTo(Membership.NOT_PERMITTED);
    }

    /** The kernel shows an empty environment then, and that is no answer. */
    @Test
    void whoEndsOrIsBeingExecutedIsNotSeen() throws Exception {
        var text = environ(END);
        assertThat(of(text).membership()).isEqualTo(new Membership.Outside());
        assertThat(of(text.replace(" 99 0 ", " 0 0 ")).membership()).isEqualTo(UNSEEN);
        assertThat(of(text.replaceFirst(" 99 0 ", " 98 0 ")).membership()).isEqualTo(UNSEEN);
        assertThat(of(text.replaceFirst(" 1000 ", " 1001 ")).membership()).isEqualTo(UNSEEN);
        assertThat(of(text.replaceFirst("\\) S", ") Z")).membership()).isEqualTo(UNSEEN);
        assertThat(of(text.replace(") S", ") X")).membership()).isEqualTo(UNSEEN);
        assertThat(of(text.replaceFirst("7 \\(sleep\\) S.*\n", "")).membership())
                .isEqualTo(UNSEEN);
    }

    @Test
    void aProgramIsKnownByItsNameOrByItsFile() throws Exception {
        var environ = environ(END);
        assertThat(program(environ)).isEqualTo(new Recollection.Program(false, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 yes\n")).isEqualTo(new Recollection.Program(true, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 yes\n@" + NONCE + " exe 7 none\n"))
                .isEqualTo(new Recollection.Program(true, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 no\n@" + NONCE + " exe 7 none\n"))
                .isEqualTo(new Recollection.Program(false, ""));
        assertThat(program(environ + "@" + NONCE + " name 7 no\n@" + NONCE + " exe 7 2049:12\n"))
                .isEqualTo(new Recollection.Program(true, "2049:12"));
    }

    @Test
    void ofSeveralTheOneThatCameToItsEndCounts() throws Exception {
        var whole = environ(VARIABLE + "a\0" + END) + "@" + NONCE + " read 7\n";
        var cut = environ(VARIABLE + "b\0" + END);
        assertThat(Objects.requireNonNull(all(cut, whole).get(7)).membership()).isEqualTo(in("a"));
        assertThat(Objects.requireNonNull(all(whole, cut).get(7)).membership()).isEqualTo(in("a"));
        assertThat(all(whole, whole.replace(" 7\n", " 8\n")).keySet()).containsExactlyInAnyOrder(7, 8);
    }

    private static Recollection.Program program(String text) throws Exception {
        return of(text).program();
    }

    private static Membership in(String eid) {
        return new Membership.InEnvironment(eid);
    }

    private static Membership membership(String records) throws Exception {
        var bytes = new String(records.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
        return of(environ(bytes + END)).membership();
    }

    private static String environ(String content) {
        var stat = "7 (sleep) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 1000" + " 5".repeat(27) + " 98 99 0 \n";
        return "@%1$s before 7\n%2$s@%1$s environ 7\n%3$s\n@%1$s after 7\n%2$s".formatted(NONCE, stat, content);
    }

    private static Recollection of(String text) throws Exception {
        return Objects.requireNonNull(all(text).get(7));
    }

    private static Map<Integer, Recollection> all(String... texts) throws Exception {
        var frames = new ArrayList<Frame>();
        for (var text : texts) {
            var base64 = Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.ISO_8859_1));
            frames.add(new Frame("memory %s .".formatted(base64)));
        }
        return Recollection.in(frames, NONCE);
    }
}
