package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.genv.enforcer.enforcement.host.Machine.Examined;
import dev.genv.enforcer.enforcement.host.Machine.SignalResult;
import dev.genv.enforcer.enforcement.host.Machine.SwapResult;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The answer of the agent to a request. */
@JsonTypeInfo(use = JsonTypeInfo.Id.DEDUCTION)
public sealed interface Answer {
    /**
     * To an observation.
     *
     * @param toolHangs whether nvidia-smi still runs on the machine, because not even SIGKILL terminated it
     */
    record Observed(HostFacts facts, boolean toolHangs) implements Answer {}

    /**
     * To an examination.
     *
     * @param hasHandles whether the system has process descriptors, see pidfd_open(2); otherwise a signal is sent to a pid, directly after its
     *     start time was compared
     */
    record ToExamination(boolean hasHandles, List<Reading<ProgramFile>> programs, List<Examined> processes)
            implements Answer {}

    /**
     * To signals.
     *
     * @param leased the service that acts instead of this one; null if this one acted
     */
    record ToSignals(@Nullable Leased leased, List<Signalled> signals) implements Answer {}

    /** What came of the signal to a process. */
    record Signalled(int pid, SignalResult result) {}

    /** To the replacement of {@code devices.json}, likewise. */
    record ToSwap(@Nullable Leased leased, @Nullable SwapResult swap) implements Answer {}

    /** The agent cannot work on this machine, for a reason as a clause. */
    record Failed(String failed) implements Answer {}

    /** It acted some time ago, and others may act again after the rest of its lease, both in seconds. */
    record Leased(long secondsAgo, long secondsLeft) {
        String reason() {
            return "another service acted on this host %d s ago: observing only until its lease expires, in %d s"
                    .formatted(secondsAgo, secondsLeft);
        }
    }
}
