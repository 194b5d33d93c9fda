package dev.genv.enforcer.remote.agent;

import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.genv.enforcer.host.Bytes;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the agent is asked to do. Durations are in seconds. */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "do")
public sealed interface Request {
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
     * @param skip the processes whose memory is not read
     * @param verified the processes whose exit the service waits for
     * @param settled the pid and the start time of each process whose relations are not gathered
     * @param attributed likewise of each process whose cgroup is not read
     * @param first the processes that are read before the others of their owners
     * @param holders whether to look for processes that hold GPUs without being listed
     * @param reused the listed pids that other processes have by now, so that this search includes these
     * @param subordinates the ranges of subordinate uids, whose processes count as their owner's, ascending: the first uid, the number of uids, the owner
     * @param passwd the version of the file that is known; empty if none is
     * @param subuid likewise
     * @param programs the paths of the protected programs
     */
    record Observe(
            @JsonUnwrapped Common common,
            boolean acts,
            Gpu gpu,
            boolean skipKernels,
            List<Integer> skip,
            List<Integer> verified,
            List<List<Long>> settled,
            List<List<Long>> attributed,
            List<Integer> first,
            boolean holders,
            List<Integer> reused,
            List<List<Long>> subordinates,
            String passwd,
            String subuid,
            List<String> programs)
            implements Request {}

    /**
     * How nvidia-smi is run.
     *
     * @param program a path, or a name that is searched in the standard directories
     * @param arguments of all queries
     * @param processes the argument that asks for the processes
     * @param devices the argument that asks for the devices
     * @param status the argument that asks for what is measured on the devices; empty if it is not asked for
     * @param skip whether it is not run
     * @param skipStatus whether only that last query is not made
     */
    record Gpu(
            String program,
            Duration timeout,
            List<String> arguments,
            String processes,
            String devices,
            String status,
            boolean skip,
            boolean skipStatus) {}

    /**
     * Open a handle of each process, and read what it is now.
     *
     * @param subordinates as in {@link Observe}
     * @param programs the paths of the protected programs
     */
    record Examine(
            @JsonUnwrapped Common common, List<Integer> pids, List<List<Long>> subordinates, List<String> programs)
            implements Request {}

    /**
     * Until when actions are begun.
     *
     * @param deadline in clock ticks since boot
     * @param boot the boot id of the machine when it was observed; during another boot no action is begun
     */
    record Validity(long deadline, String boot) {}

    /**
     * Send signals to examined processes.
     *
     * @param subordinates as in {@link Observe}
     */
    record Signal(
            @JsonUnwrapped Common common,
            @JsonUnwrapped Validity validity,
            List<List<Long>> subordinates,
            List<OneSignal> signals)
            implements Request {}

    /**
     * Send a signal if the process is still what it was.
     *
     * @param startTime in clock ticks since boot
     * @param digest null if it may be anything by now
     */
    record OneSignal(
            int pid,
            long startTime,
            String signal,
            @Nullable String digest) {}

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
