package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Decides which environments of a machine are active, and reads the uids of the processes that they list. */
public interface LivenessSource {
    /**
     * Returns the active environments: one of their pids exists, even as a zombie, or one of their Jupyter kernels runs.
     *
     * @return each environment with its live pids only, because there may be many others
     */
    List<Environment> alive(Collection<Environment> environments);

    /**
     * Returns the real uids of the live pids that the environments list or are named after, as far as they can be read.
     *
     * @param environments as {@link #alive} returned them: others may list millions of pids
     */
    Map<Integer, Long> uids(Collection<Environment> environments);

    /** Returns why the running processes are unknown, as a clause; empty if they are known. */
    default Optional<String> failure() {
        return Optional.empty();
    }

    /** Returns a problem if {@link #alive} returned environments that may be inactive; empty if all are known. */
    default Optional<Problem> uncertainty() {
        return Optional.empty();
    }

    /**
     * Returns the problem that not all processes could be searched for kernels.
     *
     * @param why a clause
     */
    static Problem kernelsUnknown(String why) {
        return new Problem(
                ProblemCode.KERNELS_UNKNOWN,
                "the running Jupyter kernels are unknown, so environments with kernels count as active: " + why);
    }

    /**
     * Returns when a process was started, in clock ticks since boot.
     *
     * @return empty if it does not exist, or if the start time is unknown
     */
    default Optional<Long> startOf(int pid) {
        return Optional.empty();
    }
}
