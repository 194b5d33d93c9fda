package dev.genv.enforcer.host;

import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.ProcessId;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * The hands on one machine. They gather facts, compare, send signals and replace a file; the service decides. One thread at a time uses
 * them.
 */
public interface Machine {
    /**
     * Gathers the facts. A part that cannot be read is part of the answer, not an exception.
     *
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    HostFacts observe(ObservationRequest request) throws UnreachableException, InterruptedException;

    /**
     * Sends signals, each in one step: it opens a pidfd, which never refers to a later process with the same pid, looks for a device file of
     * the driver that the process has open or mapped, compares the start time, and sends.
     *
     * @param signals at most one for each process
     * @param done called with each result as soon as it exists, even if the service no longer waits
     * @throws UnreachableException if the machine cannot be reached; a signal without a result was not sent then
     * @throws InterruptedException if the service no longer waits for the answer
     */
    void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done)
            throws UnreachableException, InterruptedException;

    /**
     * Replaces {@code devices.json} under genv's lock if it is still the file from which the new one was made.
     *
     * @param digest the SHA-256 of that file in hexadecimal
     * @throws UnreachableException if the machine cannot be reached; then nothing was written
     * @throws InterruptedException if the service no longer waits for the answer; the file may have been replaced
     */
    SwapResult swapDevices(String digest, byte[] content) throws UnreachableException, InterruptedException;

    /**
     * What the files of a process say of its use of the driver.
     *
     * @param isProven whether it has a device file of the driver open or mapped, or the driver has none, as on WSL
     * @param unexamined what of its files was not examined, as a clause; empty if all were
     */
    record DeviceUse(boolean isProven, String unexamined) {
        public static final DeviceUse PROVEN = new DeviceUse(true, "");
    }

    /**
     * A signal.
     *
     * @param kill whether it is SIGKILL; otherwise SIGTERM
     */
    record SignalRequest(ProcessId process, boolean kill) {
        private static final int FIRST_PROCESS = 1;

        /** kill(2) takes a pid that is not positive for a group of processes, or for all. */
        public SignalRequest {
            if (process.pid() <= FIRST_PROCESS) {
                throw new IllegalArgumentException("this is no process that may be signalled: " + process.pid());
            }
        }
    }

    /**
     * What came of a signal.
     *
     * @param reason a clause; empty if the kind says all
     */
    record SignalResult(Kind kind, String reason) {
        public enum Kind {
            SENT,
            /** It has exited; a zombie without another thread has, too. */
            GONE,
            /** The service lacks the privilege. */
            DENIED,
            /** It has no device file of the driver open or mapped: its pid is perhaps not that of the process that nvidia-smi lists. */
            WITHOUT_DEVICE,
            /** It is unknown whether it has one. */
            UNEXAMINED,
            NOT_SENT,
            /** There was no answer: it may have been sent. */
            PERHAPS
        }

        public static SignalResult of(Kind kind) {
            return new SignalResult(kind, "");
        }
    }

    /** What came of replacing {@code devices.json}. */
    sealed interface SwapResult {
        record Done() implements SwapResult {}

        /** Nothing was written: this is the file now, and it is not the one from which the new one was made. */
        record Found(StateFile file) implements SwapResult {}

        /** Nothing was written: another program wrote the file or replaced genv's lock meanwhile. */
        record Disturbed() implements SwapResult {}

        /** The file was not replaced, or that is unknown. */
        sealed interface Failed extends SwapResult {}

        /** Nothing was written, because genv's lock was not available. */
        record Locked(LockFacts lock) implements Failed {}

        /** Nothing was written, because the state directory was not accessed. */
        record Inaccessible(Directory directory) implements Failed {}

        /** Nothing was written, for a reason as a clause. */
        record NotWritten(String reason) implements Failed {}

        /** There was no answer, for a reason as a clause: the file may have been replaced. */
        record Perhaps(String reason) implements Failed {}
    }
}
