package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import dev.genv.enforcer.api.view.ProcessView.WorkloadView;
import dev.genv.enforcer.format.SnapshotJson;
import dev.genv.enforcer.model.Snapshot;
import java.io.IOException;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.enums.SchemaType;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.jspecify.annotations.Nullable;

/** The snapshots of all hosts by name, written to the client as a stream. */
@JsonSerialize(using = FleetView.Serializer.class)
@Schema(
        type = SchemaType.OBJECT,
        properties = {},
        additionalProperties = FleetView.HostSnapshotView.class)
public record FleetView(@Schema(hidden = true) List<Snapshot> snapshots) {
    public static final FleetView EMPTY = new FleetView(List.of());

    static final class Serializer extends JsonSerializer<FleetView> {
        @Override
        public void serialize(FleetView fleet, JsonGenerator out, SerializerProvider serializers) throws IOException {
            out.writeStartObject();
            for (var snapshot : fleet.snapshots) {
                out.writeFieldName(snapshot.host());
                SnapshotJson.write(snapshot, out);
            }
            out.writeEndObject();
        }
    }

    /**
     * The form of {@code genv usage snapshot}, for the description of the API only: {@link dev.genv.enforcer.format.SnapshotJson} writes and
     * reads it as a stream.
     */
    public record HostSnapshotView(
            ListedProcesses processes,
            @Nullable UnlistedView gpuUnlisted,
            @Nullable List<String> notObserved,
            ListedEnvironments envs,
            ListedDevices devices) {
        /** The processes on GPUs. */
        public record ListedProcesses(List<ListedProcess> processes) {}

        /** A process on GPUs. */
        public record ListedProcess(
                int pid,
                List<ListedUsage> usedGpuMemory,
                @Nullable String user,
                @Nullable String eid,
                ProcessView.MembershipView membership,
                @Nullable WorkloadView workload) {}

        /** The memory that no listed process explains. */
        public record UnlistedView(List<ListedUsage> devices, List<UnlistedProcess> processes) {}

        /** A process that may hold that memory. */
        public record UnlistedProcess(
                int pid,
                long startTime,
                @Nullable Long uid,
                String command,
                List<Integer> devices,
                List<Integer> usedDevices,
                @Nullable String user,
                @Nullable String eid,
                ProcessView.MembershipView membership,
                @Nullable String membershipUnknown,
                @Nullable String immune,
                long since,
                @Nullable WorkloadView workload) {}

        /** The use of a device by a process. */
        public record ListedUsage(
                int index,
                @Nullable String gpuMemory,
                @Nullable List<ListedInstance> migInstances) {}

        /** A MIG device. */
        public record ListedInstance(int gpuInstance, int computeInstance) {}

        /** The active environments. */
        public record ListedEnvironments(List<ListedEnvironment> envs) {}

        /** An environment, as genv recorded it. */
        public record ListedEnvironment(
                String eid,
                @Nullable Long uid,
                String creation,
                @Nullable String username,
                ListedConfig config,
                List<Integer> pids,
                List<String> kernelIds) {}

        /** The configuration of an environment. */
        public record ListedConfig(
                @Nullable String name,
                @Nullable String gpuMemory,
                @Nullable Integer gpus) {}

        /** The devices with their attachments. */
        public record ListedDevices(List<ListedDevice> devices) {}

        /** A device. */
        public record ListedDevice(int index, @Nullable String totalMemory, List<ListedAttachment> attachments) {}

        /** The attachment of a device to an environment. */
        public record ListedAttachment(
                String eid,
                @Nullable String gpuMemory,
                @Nullable String time) {}
    }
}
