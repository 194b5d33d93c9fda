package dev.genv.enforcer.format.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.format.gpu.NvmlCode.Extent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class NvmlCodeTest {
    /** nvml.h numbers its codes without a gap up to 30, and has 999. */
    @Test
    void hasEveryNumberOfTheHeader() {
        for (var number = 0; number <= 30; number++) {
            assertThat(NvmlCode.of(number)).map(NvmlCode::number).hasValue(number);
        }
        assertThat(NvmlCode.of(999)).hasValue(NvmlCode.UNKNOWN);
        assertThat(NvmlCode.values()).hasSize(32);
    }

    @ParameterizedTest
    @CsvSource({
        "1, UNINITIALIZED, SOURCE, true",
        "3, NOT_SUPPORTED, VALUE, false",
        "4, NO_PERMISSION, VALUE, false",
        "6, NOT_FOUND, VALUE, false",
        "7, INSUFFICIENT_SIZE, VALUE, false",
        "9, DRIVER_NOT_LOADED, SOURCE, true",
        "12, LIBRARY_NOT_FOUND, SOURCE, false",
        "13, FUNCTION_NOT_FOUND, VALUE, false",
        "15, GPU_IS_LOST, GPU, true",
        "16, RESET_REQUIRED, GPU, false",
        "17, OPERATING_SYSTEM, SOURCE, false",
        "18, LIB_RM_VERSION_MISMATCH, SOURCE, true",
        "25, ARGUMENT_VERSION_MISMATCH, VALUE, false",
        "28, GPU_NOT_FOUND, GPU, true",
        "999, UNKNOWN, VALUE, false"
    })
    void saysWhatAnErrorLeavesUnknownAndWhetherAnInitializationCuresIt(
            int number, NvmlCode code, Extent extent, boolean isCured) {
        assertThat(NvmlCode.of(number)).hasValue(code);
        assertThat(NvmlCode.extentOf(number)).isEqualTo(extent);
        assertThat(NvmlCode.isCuredByInitialization(number)).isEqualTo(isCured);
    }

    @ParameterizedTest
    @EnumSource
    void onlySuccessLeavesNothingUnknown(NvmlCode code) {
        assertThat(NvmlCode.extentOf(code.number()) == Extent.NOTHING).isEqualTo(code == NvmlCode.SUCCESS);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 31, 998, 1000})
    void anUndefinedNumberIsAnErrorOfAValue(int number) {
        assertThat(NvmlCode.of(number)).isEmpty();
        assertThat(NvmlCode.extentOf(number)).isEqualTo(Extent.VALUE);
        assertThat(NvmlCode.isCuredByInitialization(number)).isFalse();
    }
}
