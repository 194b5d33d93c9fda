package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.api.view.ProcessView.MembershipView;
import dev.genv.enforcer.api.view.ProcessView.WorkloadView;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A snapshot in the form that {@code genv usage snapshot} prints, with fields that genv does not have. */
public record SnapshotView(
        Processes processes,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<ListedUsage> unexplainedMemory,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> notObserved,
        Environments envs,
        Devices devices) {

    public record Processes(List<Listed> processes) {}

    public record Environments(List<EnvironmentView> envs) {}

    public record Devices(List<Device> devices) {}

    public static SnapshotView of(Snapshot snapshot) {
        var missing = snapshot.missing().stream().sorted().map(SnapshotPart::label);
        return new SnapshotView(
                new Processes(snapshot.processes().stream().map(Listed::of).toList()),
                new TreeMap<>(snapshot.unexplained().memory())
                        .entrySet().stream()
                                .map(device -> ListedUsage.of(device.getKey(), device.getValue()))
                                .toList(),
                missing.toList(),
                new Environments(snapshot.environments().stream()
                        .map(EnvironmentView::of)
                        .toList()),
                new Devices(snapshot.devices()));
    }

    private static @Nullable String eid(GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null;
    }

    /** A process that the GPU tool lists. */
    public record Listed(
            int pid,
            List<ListedUsage> usedGpuMemory,
            String command,
            @Nullable String user,
            @Nullable String userBy,
            @Nullable String eid,
            MembershipView membership,
            @Nullable WorkloadView workload) {
        private static Listed of(GpuProcess process) {
            var view = ProcessView.of(process);
            return new Listed(
                    process.pid(),
                    process.usage().stream()
                            .map(use -> ListedUsage.of(use.device(), use.memory()))
                            .toList(),
                    view.command(),
                    view.user(),
                    view.userBy(),
                    SnapshotView.eid(process),
                    view.membership(),
                    view.workload());
        }
    }

    /** The memory is null if it is unknown: genv would write {@code [N/A]mi}, which is no number. */
    public record ListedUsage(int index, @Nullable String gpuMemory) {
        private static ListedUsage of(int device, @Nullable Memory memory) {
            return new ListedUsage(device, memory == null ? null : memory.mebibytes() + "mi");
        }
    }

    public record EnvironmentView(
            String eid,
            @Nullable Long uid,
            String creation,
            @Nullable String username,
            Environment.Config config,
            List<Integer> pids,
            List<String> kernelIds) {
        private static EnvironmentView of(Environment environment) {
            return new EnvironmentView(
                    environment.eid(),
                    environment.uid(),
                    environment.creation(),
                    environment.username(),
                    environment.config(),
                    environment.pids(),
                    environment.kernelIds());
        }
    }
}
