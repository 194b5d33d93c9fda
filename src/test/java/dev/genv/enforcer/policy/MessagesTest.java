package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import org.junit.jupiter.api.Test;

class MessagesTest {

    @Test
    void terminateMessageNamesProcessEnvironmentAndDevices() {
        assertThat(terminateMessage(process(67708).inEnvironment("67609").uses(10, 2)))
                .isEqualTo("Terminating process 67708 from environment 67609 that is running on GPU(s) 2,10");
        assertThat(terminateMessage(process(7).membershipUnknown().uses(0)))
                .isEqualTo("Terminating process 7 from environment N/A that is running on GPU(s) 0");
    }

    @Test
    void userWithoutNameIsShownAsNotAvailable() {
        var words = "Detaching environment 67609 of user N/A from device 0";
        assertThat(detachMessage(env("67609").withoutUsername())).isEqualTo(words);
        assertThat(detachMessage(env("67609").user(""))).isEqualTo(words);
    }

    @Test
    void controlAndInvisibleCharactersAreEscaped() {
        assertThat(SafeText.escape("a\nProcess 1 already terminated"))
                .isEqualTo("a\\u000aProcess 1 already terminated");
        assertThat(SafeText.escape("a\r\tb")).isEqualTo("a\\u000d\\u0009b");
        assertThat(SafeText.escape("\u001b[2J")).isEqualTo("\\u001b[2J");
        assertThat(SafeText.escape("\u0000\u007f\u009b")).isEqualTo("\\u0000\\u007f\\u009b");
        assertThat(SafeText.escape("ab\u202eba")).as("right to left").isEqualTo("ab\\u202eba");
        assertThat(SafeText.escape("a\u200bb\ufeff")).as("no width").isEqualTo("a\\u200bb\\ufeff");
        assertThat(SafeText.escape("a\u2028b\u2029")).as("other line ends").isEqualTo("a\\u2028b\\u2029");
        assertThat(SafeText.escape("\ud800x")).as("half a pair").isEqualTo("\\ud800x");
        assertThat(SafeText.escape("\udb40\udc41")).as("a tag").isEqualTo("\\U000e0041");
        assertThat(SafeText.escape("\ue000\uffff")).as("nobody's").isEqualTo("\\ue000\\uffff");
    }

    @Test
    void printableUnicodeIsUnchanged() {
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
        assertThat(SafeText.escape("x".repeat(3), 2)).isEqualTo("xx…");
    }

    private static String terminateMessage(GpuProcessBuilder process) {
        return Messages.of(new Action.Terminate("here", process.build()));
    }

    private static String detachMessage(EnvBuilder env) {
        var snapshot = host().devices(1).with(env.attached(0)).snapshot();
        return Messages.of(new Action.Detach(
                "here",
                snapshot.environments().getFirst(),
                0,
                snapshot.devices().getFirst().attachments().getFirst()));
    }
}
