package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Tells of a machine which environments are alive there, and whose the processes are that they list. */
public interface Living {
    /**
     * Those that are alive: one of their pids is there, as a zombie even, or one of their Jupyter kernels is.
     *
     * @return each with those of its pids alone that are there: the others mean nothing, and may be many
     * @throws IOException where it cannot be told
     */
    List<Environment> among(Collection<Environment> environments) throws IOException;

    /**
     * The real uids of the pids that they list or are named after, as far as they run and it can be told.
     *
     * @param environments as {@link #among} gave them: any other one may list millions of pids
     * @throws IOException where one could not be read for another reason than that the process has ended
     */
    Map<Integer, Long> uids(Collection<Environment> environments) throws IOException;

    /** That {@link #among} took environments for alive which may not be; empty where all is known. */
    default Optional<Problem> doubt() {
        return Optional.empty();
    }

    /**
     * The problem where not all processes could be searched for kernels.
     *
     * @param why a clause
     */
    static Problem kernelsUnknown(String why) {
        return new Problem(
                ProblemCode.KERNELS_UNKNOWN,
                "which Jupyter kernels run is not known, so environments with kernels count as active: " + why);
    }

    /**
     * When a process was started, in clock ticks since boot.
     *
     * @return nothing where it is not there, or where that is not known here
     * @throws IOException where it could not be read for another reason than that the process has ended
     */
    default Optional<Long> startOf(int pid) throws IOException {
        return Optional.empty();
    }
}
