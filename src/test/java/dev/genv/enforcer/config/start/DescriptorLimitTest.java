package dev.genv.enforcer.config.start;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DescriptorLimitTest {
    private static final String LIMITS = """
            Limit                     Soft Limit           Hard Limit           Units
            Max processes             63432                63432                processes
            Max open files            %-20s 524288               files
            Max locked memory         8388608              8388608              bytes
            """;

    @Test
    void namesTheLimitAndTheNumberNeeded() {
        assertThat(DescriptorLimit.problem(LIMITS.formatted("64")))
                .hasValue(
                        "genv-enforcer cannot start: it may open 64 files and needs 256; raise the limit (ulimit -n)");
    }

    @Test
    void reportsNothingWhenTheLimitIsSufficient() {
        assertThat(DescriptorLimit.problem(LIMITS.formatted("256"))).isEmpty();
        assertThat(DescriptorLimit.problem(LIMITS.formatted("unlimited"))).isEmpty();
        assertThat(DescriptorLimit.problem("")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"256, 16", "300, 22", "1024, 384", "1280, 512", "1048576, 512", "unlimited, 512"})
    void reservesDescriptorsForTheCycle(String limit, int connections) {
        assertThat(DescriptorLimit.connectionsPerPort(LIMITS.formatted(limit))).isEqualTo(connections);
    }
}
