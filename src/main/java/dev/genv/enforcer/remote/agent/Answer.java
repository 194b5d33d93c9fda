package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.Machine.SignalResult;
import dev.genv.enforcer.host.Machine.SwapResult;
import java.util.List;

/** The answer of the agent to a request. */
@JsonTypeInfo(use = JsonTypeInfo.Id.DEDUCTION)
sealed interface Answer {
    /**
     * To an observation.
     *
     * @param toolHangs whether nvidia-smi still runs on the machine, because not even SIGKILL terminated it
     * @param argumentsHang whether the arguments of a process did not answer
     */
    record Observed(HostFacts facts, boolean toolHangs, boolean argumentsHang) implements Answer {}

    /**
     * To signals.
     *
     * @param hasPidfd whether the system has process descriptors, see pidfd_open(2); otherwise a signal is sent to a pid, directly after its
     *     start time was compared
     */
    record ToSignals(boolean hasPidfd, List<Signalled> signals) implements Answer {}

    /** What came of the signal to a process. */
    record Signalled(int pid, SignalResult result) {}

    /** To the replacement of {@code devices.json}. */
    record ToSwap(SwapResult swap) implements Answer {}

    /** The agent cannot work on this machine, for a reason as a clause. */
    record Failed(String failed) implements Answer {}
}
