package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;

/** What a replay has terminated and detached on a host, as far as the recorded past still contains it. */
final class ReplayedHost {
    /** So many are remembered also where an observation is never complete. */
    private static final int MAX_REMEMBERED = 10_000;

    private final Set<ProcessId> processes = new HashSet<>();
    private final Set<AttachmentId> attachments = new HashSet<>();

    /** Returns whether it was not terminated before. */
    boolean terminate(ProcessId process) {
        return processes.add(process);
    }

    /** Returns whether it was not detached before. */
    boolean detach(int device, Attachment attachment) {
        return attachments.add(new AttachmentId(device, attachment));
    }

    /** Forgets what the past no longer contains: the same environment may be attached again. What was not observed may still be there. */
    void forgetAbsent(Snapshot snapshot) {
        if (snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS) || processes.size() > MAX_REMEMBERED) {
            processes.retainAll(
                    snapshot.processes().stream().map(GpuProcess::id).collect(Collectors.toSet()));
        }
        if (snapshot.has(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS) || attachments.size() > MAX_REMEMBERED) {
            attachments.retainAll(snapshot.devices().stream()
                    .flatMap(device -> device.attachments().stream()
                            .map(attachment -> new AttachmentId(device.index(), attachment)))
                    .collect(Collectors.toSet()));
        }
    }

    /** Returns the snapshot as it would have been. */
    Snapshot removeFrom(Snapshot snapshot) {
        if (processes.isEmpty() && attachments.isEmpty()) {
            return snapshot;
        }
        return snapshot.withProcesses(snapshot.processes().stream()
                        .filter(process -> !processes.contains(process.id()))
                        .toList())
                .withDevices(snapshot.devices().stream().map(this::removeFrom).toList());
    }

    private Device removeFrom(Device device) {
        return new Device(
                device.index(),
                device.totalMemory(),
                device.attachments().stream()
                        .filter(attachment -> !attachments.contains(new AttachmentId(device.index(), attachment)))
                        .toList());
    }
}
