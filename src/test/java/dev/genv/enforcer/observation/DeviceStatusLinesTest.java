package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.observation.GpuListing.DeviceStatuses;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceStatusLinesTest {
    @Test
    void readsEachField() {
        assertThat(DeviceStatuses.parse(List.of("1, 220, 16384, -3, 100", "0,1,2,61,0")))
                .containsExactly(
                        new DeviceStatus(0, 61, 0, Memory.ofMebibytes(1), Memory.ofMebibytes(2)),
                        new DeviceStatus(1, -3, 100, Memory.ofMebibytes(220), Memory.ofMebibytes(16384)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0, [N/A], [N/A], [N/A], [N/A]",
                "0, [Not Supported], [GPU is lost], [Unknown Error], [Insufficient Permissions]",
                "0, -1, 1.5, 1000, 101",
                "0, , , , ",
                "0, 1234567890123, 99999999999999999999, 61 C, 5 %"
            })
    void anotherTextIsUnknown(String line) {
        assertThat(DeviceStatuses.parse(List.of(line))).containsExactly(new DeviceStatus(0, null, null, null, null));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0",
                "0, 1, 2, 3",
                "0, 1, 2, 3, 4, 5",
                "x, 1, 2, 3, 4",
                "-1, 1, 2, 3, 4",
                "[GPU is lost], 1, 2, 3, 4"
            })
    void anotherLineIsLeftOut(String line) {
        assertThat(DeviceStatuses.parse(List.of(line))).isEmpty();
    }

    @Test
    void theFirstLineOfADeviceCounts() {
        assertThat(DeviceStatuses.parse(List.of("0, 1, 2, 3, 4", "0, 5, 6, 7, 8")))
                .containsExactly(new DeviceStatus(0, 3, 4, Memory.ofMebibytes(1), Memory.ofMebibytes(2)));
    }
}
