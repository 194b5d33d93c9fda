package dev.genv.enforcer.api.view;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.recording.DeviceHistory;
import dev.genv.enforcer.recording.DeviceHistory.Recent;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A host as the last cycle observed it.
 *
 * @param devices how many the GPU tool lists; null if that was not observed, as the next two are
 */
public record HostView(
        String host,
        String status,
        @Nullable Instant lastObserved,
        long observationMs,
        @Nullable String driver,
        @Nullable Integer devices,
        @Nullable Integer processes,
        @Nullable Integer environments,
        List<ProblemView> problems,
        List<String> missingPrivileges,
        List<DeviceStatusView> deviceStatus) {
    /** What the driver measures on a device. Each value is null if it is unknown. */
    public record DeviceStatusView(
            int device,
            @Nullable Integer temperature,
            @Nullable Integer utilization,
            @Nullable Long usedBytes,
            @Nullable Long totalBytes,
            @Nullable String model,
            @Nullable Integer powerWatts,
            List<@Nullable Integer> utilizationLastHour,
            @Nullable Instant idleSince,
            @Nullable Instant freeSince) {
        private static DeviceStatusView of(DeviceStatus status, Recent recent) {
            return new DeviceStatusView(
                    status.index(),
                    status.temperature(),
                    status.utilization(),
                    bytes(status.used()),
                    bytes(status.total()),
                    status.model(),
                    status.power(),
                    recent.utilization(),
                    recent.idleSince(),
                    recent.freeSince());
        }

        private static @Nullable Long bytes(@Nullable Memory memory) {
            return memory == null ? null : memory.bytes();
        }
    }

    /**
     * A problem of the host.
     *
     * @param code the label of a {@link dev.genv.enforcer.model.ProblemCode}
     * @param consequence the label of its {@link dev.genv.enforcer.model.ProblemCode.ProblemConsequence}
     */
    public record ProblemView(String code, String consequence, String detail) {
        public static ProblemView of(Problem problem) {
            var code = problem.code();
            return new ProblemView(code.label(), code.consequence().label(), problem.detail());
        }
    }

    public static List<HostView> of(CycleReport report, DeviceHistory history) {
        return report.fleet().snapshots().stream()
                .map(snapshot -> of(snapshot, history))
                .toList();
    }

    private static HostView of(Snapshot snapshot, DeviceHistory history) {
        var details = snapshot.details();
        return new HostView(
                snapshot.host(),
                !snapshot.isReached() ? "unreachable" : snapshot.isComplete() ? "ok" : "degraded",
                details.answer().last(),
                details.answer().duration().toMillis(),
                details.shown().driver(),
                number(snapshot, SnapshotPart.PROCESSES, snapshot.listedDevices()),
                number(snapshot, SnapshotPart.PROCESSES, snapshot.processes()),
                number(snapshot, SnapshotPart.ENVIRONMENTS, snapshot.environments()),
                snapshot.problems().stream().map(ProblemView::of).toList(),
                details.missingPrivileges(),
                details.devices().stream()
                        .map(status -> DeviceStatusView.of(status, history.of(snapshot.host(), status.index())))
                        .toList());
    }

    private static @Nullable Integer number(Snapshot snapshot, SnapshotPart part, Collection<?> observed) {
        return snapshot.has(part) ? observed.size() : null;
    }
}
