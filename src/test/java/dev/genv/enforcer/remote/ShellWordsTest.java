package dev.genv.enforcer.remote;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShellWordsTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "/var/tmp/genv",
                "A=b c",
                "it's",
                "''",
                "'",
                "$(id) `id` ${HOME} $HOME",
                "a;b|c&d>e<f(g)h",
                "-n",
                "~",
                "*?[a]{b,c}",
                "\\n\\",
                "a\nb\n",
                "#x",
                "!history",
                "ünï",
                "\u0001\u001b[0m",
            })
    void shellReceivesTheQuotedWordUnchanged(String word) throws IOException, InterruptedException {
        var shell = new ProcessBuilder("sh", "-c", "printf '%s.' " + ShellWords.quote(word));
        shell.environment().put("LC_ALL", "C");
        var process = shell.start();
        var output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).isZero();
        assertThat(output).isEqualTo(word + ".");
    }

    @Test
    void doesNotQuotePlainWords() {
        assertThat(ShellWords.quote("GENV_TMPDIR=/var/tmp/genv-2")).isEqualTo("GENV_TMPDIR=/var/tmp/genv-2");
    }

    @Test
    void refusesAZeroByte() {
        assertThatThrownBy(() -> ShellWords.quote("a\0b")).isInstanceOf(IllegalArgumentException.class);
    }
}
