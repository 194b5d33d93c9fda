package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LockAnswerTest {
    @Test
    void readsTheWaitInHundredthsOfASecond() throws UnreachableException {
        assertThat(LockAnswer.waited(frames("@n waited 150\n"))).isEqualTo(Duration.ofMillis(1500));
    }

    @Test
    void waitIsAbsentIfTheAgentDidNotWait() throws UnreachableException {
        assertThat(LockAnswer.waited(frames(""))).isNull();
    }

    /** One machine could spoil the sum of all others. */
    @Test
    void ignoresWaitLongerThanADay() throws UnreachableException {
        assertThat(LockAnswer.waited(frames("@n waited 8640000\n"))).isEqualTo(Duration.ofDays(1));
        assertThat(LockAnswer.waited(frames("@n waited 8640001\n"))).isNull();
    }

    private static Frames frames(String output) throws UnreachableException {
        return Frames.parse(output, "n");
    }
}
