package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.ProcessId;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

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
     * Opens a handle of each process (pidfd), which never refers to a later process with the same pid, and then reads what the process is now.
     * The next request closes the handles, and the agent closes them after 10 s without one.
     *
     * @param processes each once
     * @throws UnreachableException if there is no valid answer
     * @throws InterruptedException if the service no longer waits for the answer
     */
    Examination examine(List<ProcessId> processes) throws UnreachableException, InterruptedException;

    /**
     * Sends signals to processes that were examined, each only if the process is still the same.
     *
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
     * What processes are now.
     *
     * @param programs the protected programs, in the order in which they were asked for: one may have been replaced since the observation
     * @param processes in the order in which they were asked for
     */
    record Examination(List<Reading<ProgramFile>> programs, List<Examined> processes) {}

    /**
     * A process, read after its handle was opened.
     *
     * @param facts without its cgroup
     * @param devices whether it uses the driver: a listed pid can belong to a later process than the one that opened the device
     * @param digest of what is read again before a signal. The machine makes it and compares it, so its form is up to the machine.
     */
    record Examined(ProcessFacts facts, DeviceUse devices, String digest) {}

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
     * @param digest of what the process must still be; null if it may be anything by now
     */
    record SignalRequest(
            ProcessId process, boolean kill, @Nullable String digest) {
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
            /** It is no longer what was examined. */
            CHANGED,
            GONE,
            DENIED,
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
