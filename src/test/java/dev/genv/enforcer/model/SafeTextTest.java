package dev.genv.enforcer.model;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SafeTextTest {
    @Test
    void whatATerminalOrALogWouldInterpretIsEscaped() {
        assertThat(SafeText.escape("a\nb\r\tc\u001b[2J\u0000\u007f\u009b"))
                .isEqualTo("a\\u000ab\\u000d\\u0009c\\u001b[2J\\u0000\\u007f\\u009b");
        assertThat(SafeText.escape("\u202e\u200b\ufeff\u2028\u2029"))
                .as("invisible and other line ends")
                .isEqualTo("\\u202e\\u200b\\ufeff\\u2028\\u2029");
        assertThat(SafeText.escape("\ud800x\udb40\udc41\ue000\uffff"))
                .as("half a pair, a tag, and nobody's")
                .isEqualTo("\\ud800x\\U000e0041\\ue000\\uffff");
        assertThat(SafeText.escape("Zoë 李 😀 \\ \"")).isEqualTo("Zoë 李 😀 \\ \"");
    }

    @Test
    void longTextIsTruncated() {
        assertThat(SafeText.escape("x".repeat(128))).isEqualTo("x".repeat(128));
        assertThat(SafeText.escape("x".repeat(129))).isEqualTo("x".repeat(128) + "…");
        assertThat(SafeText.escape("😀".repeat(128))).isEqualTo("😀".repeat(128));
        assertThat(SafeText.escape("😀".repeat(200))).isEqualTo("😀".repeat(128) + "…");
        assertThat(SafeText.escape("\n".repeat(1_000_000))).hasSize(6 * 128 + 1);
        assertThat(SafeText.escape("x".repeat(200), 200)).isEqualTo("x".repeat(200));
    }
}
