package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class CapturedOutputTest {
    private final AtomicInteger overflows = new AtomicInteger();
    private final AtomicInteger ends = new AtomicInteger();

    @Test
    void keepsTheBeginningAndDiscardsTheRest() {
        var collected = capturedOutput(5, 1_000);
        collected.write("abc".getBytes(StandardCharsets.ISO_8859_1), 0, 3);
        collected.write('d');
        collected.write("efg".getBytes(StandardCharsets.ISO_8859_1), 0, 3);

        assertThat(collected.text()).isEqualTo("abcde");
        assertThat(collected.isExceeded()).isFalse();
        assertThat(overflows).hasValue(0);
    }

    @Test
    void reportsOutputAboveTheLimit() {
        var collected = capturedOutput(1_000_000, 100_000);
        for (var i = 0; i < 100_000; i++) {
            collected.write('x');
        }
        assertThat(collected.isExceeded()).isFalse();
        assertThat(overflows).hasValue(0);

        collected.write('x');

        assertThat(collected.isExceeded()).isTrue();
        assertThat(overflows).hasPositiveValue();
    }

    @Test
    void reportsTheEndOfTheOutput() {
        capturedOutput(1, 1).close();

        assertThat(ends).hasValue(1);
    }

    @Test
    void keepsNothingWithALimitOfZero() {
        var collected = capturedOutput(0, 10);
        collected.write('x');

        assertThat(collected.text()).isEmpty();
    }

    @Test
    void refusesInvalidLengths() {
        var collected = capturedOutput(10, 10);

        assertThatThrownBy(() -> collected.write(new byte[3], 1, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> collected.write(new byte[3], 0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(collected.text()).isEmpty();
    }

    private CapturedOutput capturedOutput(int kept, long most) {
        return new CapturedOutput(kept, most, () -> {}, overflows::incrementAndGet, ends::incrementAndGet);
    }
}
