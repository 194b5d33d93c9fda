package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Machine.SignalRequest;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.model.SubordinateUids;
import java.time.Duration;
import java.util.List;

/** What the agent is asked to do. Durations are in seconds. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "do")
sealed interface Request {
    /**
     * The part of all requests.
     *
     * @param nonce marks the lines of the answer
     * @param budget the time in which the agent answers
     * @param run where services that act on the machine keep their leases
     * @param lockTimeout the time limit for genv's lock
     */
    record Common(
            String nonce,
            Duration budget,
            String proc,
            String etc,
            String run,
            String state,
            Duration lockTimeout,
            Lease lease) {}

    /**
     * The lease with which one service at a time acts on a machine.
     *
     * @param holder identifies the service
     * @param seconds how long it lasts; zero to respect the leases of others without taking one
     */
    record Lease(String holder, Duration seconds) {}

    /**
     * Gather the facts of the machine.
     *
     * @param acts whether actions may follow, so that the lease and genv's lock are taken
     * @param programs the paths of the protected programs
     */
    record Observe(
            @JsonUnwrapped Common common,
            @JsonUnwrapped ObservationRequest asked,
            boolean acts,
            Gpu gpu,
            HostMemory.Omitted omitted,
            List<String> programs)
            implements Request {}

    /**
     * How nvidia-smi is run.
     *
     * @param program a path, or a name that is searched in the standard directories
     * @param processes the arguments that ask for the processes
     * @param devices the arguments that ask for the devices
     * @param status the arguments that ask for what is measured on the devices
     */
    record Gpu(String program, Duration timeout, List<String> processes, List<String> devices, List<String> status) {}

    /**
     * Until when actions are begun.
     *
     * @param deadline in clock ticks since boot
     * @param boot the boot id of the machine when it was observed; during another boot no action is begun
     */
    record Validity(long deadline, String boot) {}

    /**
     * Send signals.
     *
     * @param subordinateUids as in {@link ObservationRequest}
     */
    record Signal(
            @JsonUnwrapped Common common,
            @JsonUnwrapped Validity validity,
            SubordinateUids subordinateUids,
            List<SignalRequest> signals)
            implements Request {}

    /**
     * Replace {@code devices.json} if it is still the file that was observed.
     *
     * @param digest the SHA-256 of that file in hexadecimal
     * @param content the new file
     */
    record SwapDevices(
            @JsonUnwrapped Common common, @JsonUnwrapped Validity validity, String digest, Bytes content)
            implements Request {}
}
