package dev.genv.enforcer.facts;

import java.util.List;

/**
 * The facts of one machine at about one moment. They are gathered in this order: machine and access, the answers of the GPU tool,
 * the processes that it lists, the state files, the processes that the state files list. So the environment of a process that was
 * just started is never missing from the state.
 *
 * @param programs the protected programs, in the order in which they were asked for
 * @param processes the processes that the GPU tool lists, in any order
 * @param verified the processes whose exit the service waits for
 */
public record HostFacts(
        MachineFacts machine,
        AccessFacts access,
        AccountFacts accounts,
        List<Reading<ProgramFile>> programs,
        GpuFacts gpu,
        List<ProcessFacts> processes,
        StateFacts state,
        LivenessFacts liveness,
        EnforcerFacts enforcers,
        List<VerifiedProcess> verified)
        implements Facts {

    /**
     * A process whose exit the service waits for.
     *
     * @param stat the content of {@code /proc/PID/stat}; {@link Reading.Failure#ABSENT} if there is no such process
     */
    public record VerifiedProcess(int pid, Reading<Bytes> stat) {}
}
