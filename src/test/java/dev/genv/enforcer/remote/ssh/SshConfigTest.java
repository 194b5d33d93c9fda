package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SshConfigTest {

    @Test
    void usesTheFirstValue() {
        var config = SshConfig.parse("User all\n\nHost gpu-1\n User one\n Port 1\nHost gpu-*\n User many\n Port 2\n");

        assertThat(config.first("gpu-1", "user")).isEqualTo("all");
        assertThat(config.first("gpu-1", "Port")).isEqualTo("1");
        assertThat(config.first("gpu-2", "PORT")).isEqualTo("2");
        assertThat(config.first("other", "Port")).isNull();
    }

    @Test
    void collectsAllIdentityFiles() {
        var config = SshConfig.parse("IdentityFile /one\nHost a\nIdentityFile /two\nIdentityFile /one\n");

        assertThat(config.all("a", "IdentityFile")).containsExactly("/one", "/two");
        assertThat(config.all("b", "IdentityFile")).containsExactly("/one");
    }

    @Test
    void supportsSeveralValuesPerLine() {
        var config = SshConfig.parse("UserKnownHostsFile /one \"/with a space\" # both\nUserKnownHostsFile /three\n");

        assertThat(config.firstLine("a", "UserKnownHostsFile")).containsExactly("/one", "/with a space");
        assertThat(config.firstLine("a", "Other")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"User=raz", "User = raz", "  user\traz  ", "USER \"raz\"", "User raz # him", "# no\n\nUser raz\r"
            })
    void supportsEveryNotationOfAValue(String line) {
        assertThat(SshConfig.parse(line).first("a", "User")).isEqualTo("raz");
    }

    @ParameterizedTest
    @CsvSource({
        "gpu-1, gpu-1, true",
        "gpu-1, gpu-10, false",
        "gpu-?, gpu-77, false",
        "*.example.org, a.b.example.org, true",
        "*.example.org, axexample.org, false",
        "* !gpu-1, gpu-1, false",
        "!gpu-1, gpu-2, false",
        "\\Q*\\E, x, false",
    })
    void patternsMatchLikeInOpenSsh(String patterns, String host, boolean matches) {
        var config = SshConfig.parse("Host " + patterns + "\nUser raz\n");

        assertThat(config.first(host, "User") != null).isEqualTo(matches);
    }

    @ParameterizedTest
    @CsvSource({
        "Match all, Match is not understood here",
        "Include conf.d/*, Include is not understood here",
        "User, User has no value",
        "Host # none, Host has no value",
        "???, is not a keyword and its value",
    })
    void reportsUnsupportedLine(String line, String complaint) {
        assertThatThrownBy(() -> SshConfig.parse("Port 1\n" + line + "\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 2")
                .hasMessageEndingWith(complaint);
    }
}
