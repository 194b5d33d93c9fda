package dev.genv.enforcer.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryTest {

    @ParameterizedTest
    @CsvSource({
        // as genv writes them
        "1000, 1000",
        "1000b, 1000",
        "3g, 3000000000",
        "3mi, 3145728",
        "15258mi, 15999172608",
        "007m, 7000000",
        "9223372036854775807, 9223372036854775807",
        "8589934591gi, 9223372035781033984",
        // as users type them
        "4G, 4000000000",
        "4gb, 4000000000",
        "' 4 gib ', 4294967296",
        "512KiB, 524288",
        "1.5g, 1500000000",
        "1.9, 1",
    })
    void parsesAmounts(String text, long bytes) {
        assertThat(Memory.parse(text)).contains(new Memory(bytes));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "x", "mi", "-1", "1t", "1i", "1bb", "1,5g", ".5g", "1e9", "٣g", "1g\n1g", "8589934592gi"})
    void refusesInvalidAmounts(String text) {
        assertThat(Memory.parse(text)).isEmpty();
    }

    @Test
    void parsesIndependentlyOfTheLocale() {
        var before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.of("tr", "TR"));
            assertThat(Memory.parse("4GIB")).contains(new Memory(4L << 30));
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void sumSaturatesOnOverflow() {
        var most = new Memory(Long.MAX_VALUE);
        assertThat(most.plus(new Memory(1))).isEqualTo(most);
        assertThat(most.plus(most)).isEqualTo(most);
        assertThat(new Memory(2).plus(new Memory(3))).isEqualTo(new Memory(5));
        assertThatThrownBy(() -> Memory.ofMebibytes(Long.MAX_VALUE)).isInstanceOf(ArithmeticException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, 0",
        "1, 0, 1",
        "999999, 0, 1",
        "1000000, 1, 1",
        "1048576, 1, 1",
        "1048577, 1, 2",
        "1153999999, 1153, 1101",
        "9223372036854775807, 9223372036854, 8796093022208"
    })
    void megabytesAreRoundedDownAndMebibytesUp(long bytes, long megabytes, long mebibytes) {
        assertThat(new Memory(bytes).megabytes()).isEqualTo(megabytes);
        assertThat(new Memory(bytes).mebibytes()).isEqualTo(mebibytes);
    }
}
