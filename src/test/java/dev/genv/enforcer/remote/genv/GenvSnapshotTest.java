package dev.genv.enforcer.remote.genv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GenvSnapshotTest extends GenvMachineSuite {
    @ParameterizedTest
    @ValueSource(strings = {"Welcome to gpu-1!\n", "{ not this }\n", "\n\n", "{\"processes\": [\n", "\u00e9\u00ff\n"})
    void ignoresOutputOfALoginScript(String noise) throws Exception {
        assertThat(observe(noise + SNAPSHOT).snapshot().processes()).hasSize(3);
    }

    /** A user who prints something before or around the snapshot makes it unreadable, and forges nothing. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\n}\n",
                "{\n\"forged\": ",
                "{\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\": ",
                "{\n\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\": ",
                "{\n\"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}, \"x\":\n",
                "{\n  \"processes\": {\"processes\": []}, \"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}\n}\n",
                "x\n{\n  \"a\":\n",
                "no end of line: ",
            })
    void refusesForgedBeginning(String forged) {
        for (var end : List.of("", "}", "}\n", "\n", " ", "]}", "{\n", "{\n}\n")) {
            assertUnreadable(forged + SNAPSHOT + end, "");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''          | is empty",
                "hello       | no snapshot in it",
                "[]          | no snapshot in it",
                "'{}'        | no snapshot in it",
                "'{#}#'       | is not an object",
                "'{# 5#}#'   | is not JSON",
                "'{##}#'     | is not an object",
                "'{#\"processes\": {\"processes\": []}#}#' | has no \"envs\"",
                "'{#\"envs\": {\"envs\": []}, \"devices\": {\"devices\": []}#}#' | is not an object",
            })
    void refusesOutputThatIsNoSnapshot(String output, String why) {
        assertUnreadable(output.replace('#', '\n'), why);
    }

    @Test
    void refusesTruncatedOrExtendedSnapshot() {
        assertUnreadable(SNAPSHOT.substring(0, SNAPSHOT.length() - 3), "does not end where");
        assertUnreadable(SNAPSHOT + "bye\n", "does not end where");
        assertUnreadable(SNAPSHOT + SNAPSHOT, "begins more than once");
        assertUnreadable(SNAPSHOT.replace("\n", "\r\n"), "no snapshot in it");
        assertUnreadable(SNAPSHOT.replace("raz", "\u00ff"), "is not UTF-8");
    }

    @Test
    void quotedOutputIsTruncatedAndEscaped() {
        assertThatThrownBy(() -> observe("\u001b[2J" + "secret ".repeat(100)))
                .isInstanceOf(UnreachableException.class)
                .message()
                .hasSizeLessThan(250)
                .doesNotContain("\u001b");
    }

    private void assertUnreadable(String output, String why) {
        assertThatThrownBy(() -> observe(output))
                .isInstanceOfSatisfying(
                        UnreachableException.class,
                        refusal -> assertThat(refusal.code()).isEqualTo(ProblemCode.ANSWER_UNREADABLE))
                .hasMessageContaining(why);
    }
}
