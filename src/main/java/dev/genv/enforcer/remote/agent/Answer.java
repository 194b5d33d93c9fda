package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The answer of the agent to a request. */
@JsonTypeInfo(use = JsonTypeInfo.Id.DEDUCTION)
@JsonSubTypes({
    @JsonSubTypes.Type(Answer.Observed.class),
    @JsonSubTypes.Type(Answer.Acted.class),
    @JsonSubTypes.Type(Answer.Failed.class)
})
public sealed interface Answer {
    /**
     * To an observation.
     *
     * @param toolHangs whether nvidia-smi still runs on the machine, because not even SIGKILL terminated it
     */
    record Observed(HostFacts facts, boolean toolHangs) implements Answer {}

    /**
     * To actions.
     *
     * @param leased the service that acts instead of this one; null if this one acted
     * @param results of the terminations
     * @param lock what came of taking genv's lock for the detachment
     * @param detached null if there was no detachment
     */
    record Acted(
            @Nullable Leased leased,
            Handles handles,
            List<Terminated> results,
            LockFacts lock,
            @Nullable Detached detached)
            implements Answer {}

    /** The agent cannot work on this machine, for a reason as a clause. */
    record Failed(String failed) implements Answer {}

    /** It acted some time ago, and others may act again after the rest of its lease, both in seconds. */
    record Leased(long secondsAgo, long secondsLeft) {}

    /** What a signal was sent to. */
    enum Handles {
        /** A process descriptor, see pidfd_open(2). */
        @JsonProperty("pidfd")
        PIDFD,
        /** A pid, directly after its start time was compared. */
        @JsonProperty("comparison")
        COMPARISON
    }

    /**
     * The result of a termination.
     *
     * @param uid the real uid directly before the signal; null if unknown
     * @param environ as it was directly before the signal; null if it was not read
     * @param stat the content of {@code /proc/PID/stat} then; null if there is no environ
     */
    record Terminated(
            int number,
            Termination result,
            @Nullable Long uid,
            @Nullable EnvironFacts environ,
            @Nullable Bytes stat) {
        public enum Termination {
            SIGNALLED,
            GONE,
            DENIED,
            PROTECTED,
            /** Its environ did not answer. */
            TIMEOUT,
            /** The deadline had passed. */
            LATE,
            UNREADABLE,
            OTHER_USER,
            /** It is not listed, and maps none of the device files. */
            WITHOUT_DEVICE,
            UNEXAMINED,
            /** Its environ names another environment, or is elsewhere. */
            CHANGED
        }
    }

    /**
     * The result of the detachments, which are one change of {@code devices.json}.
     *
     * @param reason a clause; empty if the result says all
     * @param file as it is now; null if it was not read
     */
    record Detached(
            Detachment result, String reason, @Nullable StateFile file) {
        public enum Detachment {
            DONE,
            LATE,
            /** There is no file, so nothing is attached. */
            ABSENT,
            UNREADABLE,
            /** The file is another one than the new one was made from. */
            CHANGED,
            UNWRITTEN,
            /** It was changed while the new one was written. */
            RESTLESS,
            /** genv's lock could not be taken. */
            LOCKED,
            /** The state directory did not answer. */
            TIMEOUT
        }
    }
}
