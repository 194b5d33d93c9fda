package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
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

    private static Snapshot snapshot(List<GpuProcess> processes, List<Environment> environments, List<Device> devices) {
        return new Snapshot("here", processes, environments, devices, Set.of(0, 1), Set.of(), List.of());
    }

    private static Attachment attachment(String eid, String time) {
        return new Attachment(eid, null, time);
    }
}
