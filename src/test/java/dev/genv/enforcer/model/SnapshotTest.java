package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device.Attachment;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SnapshotTest {

    @Test
    void doesNotDependOnInputOrder() {
        var device0 = new Device(0, "1g", List.of(attachment("a", "1"), attachment("b", "0"), attachment("a", "0")));
        var device1 = new Device(1, null, List.of());
        var a = env("a").build();
        var b = env("b").build();
        var old = process(9).uses(1, 0).build();
        var young = process(9).startedLaterBy(5).uses(0).build();
        var low = process(8).startedLaterBy(9).build();
        var snapshot = snapshot(List.of(young, old, low), List.of(b, a), List.of(device1, device0));

        assertThat(snapshot).isEqualTo(snapshot(List.of(low, old, young), List.of(a, b), List.of(device0, device1)));
        assertThat(snapshot.processes()).containsExactly(low, old, young);
        assertThat(snapshot.environments()).containsExactly(a, b);
        assertThat(snapshot.devices()).containsExactly(device0, device1);
        assertThat(old.devices()).containsExactly(0, 1);
    }

    @Test
    void duplicateAttachmentsAreRemoved() {
        var device = new Device(0, null, List.of(attachment("b", "0"), attachment("a", "1"), attachment("b", "0")));
        assertThat(device.attachments()).containsExactly(attachment("a", "1"), attachment("b", "0"));
        assertThat(new Device(0, null, List.of(attachment("a", "0"), attachment("a", "1"))))
                .isEqualTo(new Device(0, null, List.of(attachment("a", "1"), attachment("a", "0"))));
        assertThat(device.isAttachedTo("b")).isTrue();
        assertThat(device.isAttachedTo("c")).isFalse();
    }

    @Test
    void groupsProcessesByTheEnvironmentTheyName() {
        var snapshot = host().with(env("a"))
                .with(
                        process(1).inEnvironment("a"),
                        process(2).inEnvironment("gone"),
                        process(3).inEnvironment("a"))
                .with(process(4), process(5).membershipUnknown())
                .snapshot();
        var groups = snapshot.processesByEnvironment();
        assertThat(groups).containsOnlyKeys("a", "gone");
        assertThat(groups.get("a")).extracting(GpuProcess::pid).containsExactly(1, 3);
    }

    @Test
    void processUsesNoMemoryOnOtherDevices() {
        var process = process(1).inEnvironment("a").uses(0, "1g").usesUnknown(2).build();
        assertThat(process.memoryOn(0)).isEqualTo(new Memory(1_000_000_000));
        assertThat(process.memoryOn(1)).isEqualTo(Memory.ZERO);
        assertThat(process.memoryOn(2)).isNull();
        assertThat(process.uses(2)).isTrue();
        assertThat(process.uses(1)).isFalse();
        assertThat(process.names("a")).isTrue();
        assertThat(process.names("b")).isFalse();
    }

    private static Snapshot snapshot(List<GpuProcess> processes, List<Environment> environments, List<Device> devices) {
        return new Snapshot("here", processes, environments, devices, Set.of(0, 1), Set.of(), List.of());
    }

    private static Attachment attachment(String eid, String time) {
        return new Attachment(eid, null, time);
    }
}
