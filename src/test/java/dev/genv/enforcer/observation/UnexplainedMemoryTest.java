package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.observation.UnlistedProcesses.UnexplainedMemory;
import dev.genv.enforcer.observation.UnlistedProcesses.UnexplainedMemory.Excess;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class UnexplainedMemoryTest {
    private final UnexplainedMemory memory = new UnexplainedMemory(Memory.ofMebibytes(512));

    private static GpuListing listing(@Nullable Integer used, DeviceUsage... uses) {
        return new GpuListing(
                Set.of(0),
                Map.of(7, List.of(uses)),
                List.of(new GpuListing.DeviceMemory("GPU-0", 0, used == null ? null : Memory.ofMebibytes(used))),
                List.of(),
                Set.of());
    }

    private static DeviceUsage use(int device, int mebibytes) {
        return new DeviceUsage(device, Memory.ofMebibytes(mebibytes));
    }

    private void record(GpuListing listing, int times) {
        for (var i = 0; i < times; i++) {
            memory.record(listing, true);
        }
    }

    @Test
    void lastsAfterThreeObservations() {
        record(listing(4096, use(0, 1000)), 2);
        assertThat(memory.isSuspected()).isTrue();
        assertThat(memory.isLasting()).isFalse();
        record(listing(5096, use(0, 1000)), 1);
        assertThat(memory.isLasting()).isTrue();
        assertThat(memory.lasting())
                .containsExactly(
                        Map.entry("GPU-0", new Excess(0, 3, Memory.ofMebibytes(4096), Memory.ofMebibytes(4096))));
        record(listing(6096, use(0, 1000)), 1);
        assertThat(memory.lasting().values())
                .containsExactly(new Excess(0, 4, Memory.ofMebibytes(5096), Memory.ofMebibytes(4096)));
    }

    @Test
    void oneExplainedObservationEndsTheCount() {
        record(listing(4096), 2);
        record(listing(4096, use(0, 4096)), 1);
        assertThat(memory.isSuspected()).isFalse();
        record(listing(4096), 2);
        assertThat(memory.isLasting()).isFalse();
    }

    static Stream<Arguments> listings() {
        return Stream.of(
                arguments("the tolerated amount", listing(512), false),
                arguments("more than the tolerated amount", listing(513), true),
                arguments("a process with unknown memory", listing(4096, new DeviceUsage(0, null)), false),
                arguments("memory on another device", listing(4096, use(1, 4096)), true),
                arguments("a device with unknown memory", listing(null), false));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("listings")
    void isSuspectedAndLastsIfTheProcessesDoNotExplainIt(String name, GpuListing listing, boolean isUnexplained) {
        record(listing, 3);
        assertThat(memory.isSuspected()).as(name).isEqualTo(isUnexplained);
        assertThat(memory.isLasting()).isEqualTo(isUnexplained);
    }

    @Test
    void memoryThatIsOlderThanTheProcessesChangesNothing() {
        memory.record(listing(4096), false);
        assertThat(memory.isSuspected()).isFalse();
        record(listing(4096), 3);
        memory.record(listing(4096, use(0, 4096)), false);
        assertThat(memory.isLasting()).isTrue();
    }

    @Test
    void aDeviceThatIsNoLongerListedIsForgotten() {
        record(listing(4096), 3);
        memory.record(new GpuListing(Set.of(), Map.of(), List.of(), List.of(), Set.of()), true);
        assertThat(memory.isSuspected()).isFalse();
    }
}
