package dev.genv.enforcer.enforcement.machine;

import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.ProgramFile;
import dev.genv.enforcer.format.DevicesFile.AttachmentId;
import dev.genv.enforcer.format.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.ProcessId;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a machine is to do. */
public sealed interface Order {
    /**
     * Terminate a process.
     *
     * @param kill whether by SIGKILL; otherwise by SIGTERM
     * @param expected what the last observation saw, for an adapter that compares it on the machine
     * @param check decides directly before the signal whether it is sent
     */
    record Terminate(ProcessId process, boolean kill, Expected expected, SignalCheck check) implements Order {}

    /**
     * Remove an attachment from {@code devices.json}. All detachments of an execution are one change of the file.
     *
     * @param attachment identifies it in the file
     */
    record Detach(AttachmentId attachment) implements Order {}

    /**
     * What the last observation saw of a process.
     *
     * @param uid its real uid; null if unknown
     * @param exempt the uids whose processes are never terminated
     * @param files the protected programs that a process of this uid must not run
     * @param environ null if it could not be read
     * @param addresses where its environ is
     */
    record Expected(
            @Nullable Long uid,
            Set<Long> exempt,
            Set<ProgramFile> files,
            @Nullable EnvironFacts environ,
            Addresses addresses) {}
}
