package dev.genv.enforcer.telemetry.genv;

import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceStatus;
import dev.genv.enforcer.model.device.Memory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The series of a host and its devices. What was not observed has no series. */
final class HostSeries {
    private final List<Series> series = new ArrayList<>();

    private HostSeries() {}

    static List<Series> of(HostReport host) {
        var all = new HostSeries();
        var hasGenv = host.status().hasGenv();
        all.add(GenvMetric.IS_INSTALLED, hasGenv == null ? null : hasGenv ? 1 : 0);
        host.status().devices().forEach(all::addDevice);
        all.addTotals(host.snapshot());
        return all.series;
    }

    private void addDevice(DeviceStatus device) {
        var index = Integer.toString(device.index());
        add(GenvMetric.DEVICE_TEMPERATURE, device.temperature(), index);
        add(GenvMetric.DEVICE_UTILIZATION, device.utilization(), index);
        add(GenvMetric.DEVICE_MEMORY_USED, bytes(device.used()), index);
        add(GenvMetric.DEVICE_MEMORY_TOTAL, bytes(device.total()), index);
    }

    private void addTotals(Snapshot snapshot) {
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)) {
            add(GenvMetric.PROCESSES, snapshot.processes().size());
        }
        if (snapshot.has(SnapshotPart.ENVIRONMENTS)) {
            add(GenvMetric.ENVIRONMENTS, snapshot.environments().size());
            add(GenvMetric.USERS, EntitySeries.users(snapshot).size());
        }
        if (snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)) {
            var attached = snapshot.devices().stream()
                    .filter(device -> !device.attachments().isEmpty());
            add(GenvMetric.ATTACHED_DEVICES, attached.count());
        }
    }

    private static @Nullable Long bytes(@Nullable Memory memory) {
        return memory == null ? null : Long.valueOf(memory.bytes());
    }

    private void add(GenvMetric metric, @Nullable Number value, String... labels) {
        if (value != null) {
            series.add(new Series(metric, List.of(labels), value.doubleValue()));
        }
    }
}
