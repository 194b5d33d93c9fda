package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The adapter of one machine. It gathers facts and executes instructions, and interprets neither. One thread at a time uses it.
 */
public interface Machine {
    /**
     * Gathers the facts. A part that cannot be read is part of the answer, not an exception.
     *
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    HostFacts gather(ObservationRequest request) throws UnreachableException, InterruptedException;

    /**
     * Executes instructions.
     *
     * @param done called with each result as soon as it exists, even if the service no longer waits
     * @throws UnreachableException if the machine cannot be reached; an instruction without a result was not executed then
     * @throws InterruptedException if the service no longer waits for the answer
     */
    void execute(List<Instruction> instructions, BiConsumer<Instruction, InstructionResult> done)
            throws UnreachableException, InterruptedException;

    /**
     * What an observation needs besides what every one gathers.
     *
     * @param verified the processes whose exit the service waits for
     * @param settled the processes whose relations need not be gathered, because their membership is remembered
     * @param attributed the processes whose cgroups need not be read, because their workload is remembered
     * @param deviceMemory whether the used memory of the devices must not be older than the list of the processes
     * @param deviceHolders whether to look for processes that hold device files of GPUs without being listed
     * @param reusedPids the listed pids that other processes have by now, so that this search includes these
     * @param first the pids of the processes whose environs are read before the others of their owners
     * @param subordinateUids those of the last observation: their processes count as their owner's
     */
    record ObservationRequest(
            Set<ProcessId> verified,
            Set<ProcessId> settled,
            Set<ProcessId> attributed,
            boolean deviceMemory,
            boolean deviceHolders,
            Set<Integer> reusedPids,
            List<Integer> first,
            SubordinateUids subordinateUids) {
        /** Creates the request of an observation that explains all used memory, and knows no workload. */
        public ObservationRequest(Set<ProcessId> verified, Set<ProcessId> settled) {
            this(verified, settled, Set.of(), false, false, Set.of(), List.of(), SubordinateUids.NONE);
        }

        public ObservationRequest {
            verified = Set.copyOf(verified);
            settled = Set.copyOf(settled);
            attributed = Set.copyOf(attributed);
            reusedPids = Set.copyOf(reusedPids);
            first = List.copyOf(first);
        }
    }

    /** What a machine is to do. */
    sealed interface Instruction {
        /**
         * Terminate a process.
         *
         * @param kill whether by SIGKILL; otherwise by SIGTERM
         * @param expected what the last observation saw, for an adapter that compares it on the machine
         * @param check decides directly before the signal whether it is sent
         */
        record Terminate(ProcessId process, boolean kill, Expected expected, SignalCheck check)
                implements Instruction {}

        /** Remove an attachment from {@code devices.json}. All detachments of an execution are one change of the file. */
        record Detach(AttachmentId attachment) implements Instruction {}

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

    /** What came of an instruction. */
    sealed interface InstructionResult {
        /** It has this result. */
        record Finished(Result result) implements InstructionResult {}

        /** Nothing was detached, because genv's lock was not available. */
        record Locked(LockFacts lock) implements InstructionResult {}

        /** Nothing was detached, because {@code devices.json} could not be read. */
        record Unreadable(StateFile.Unreadable devices) implements InstructionResult {}

        /** The state directory did not answer, or was not accessed. The instruction may have been executed. */
        record Inaccessible(Directory directory) implements InstructionResult {}
    }
}
