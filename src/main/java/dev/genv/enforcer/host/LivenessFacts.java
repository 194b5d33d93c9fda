package dev.genv.enforcer.host;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which of the processes that {@code envs.json} lists exist.
 *
 * @param processes at least those whose pid the file contains; its failure if that is unknown
 * @param kernels the Jupyter kernels that run
 */
public record LivenessFacts(Reading<List<LiveProcess>> processes, Kernels kernels) {
    /**
     * A process that exists, even as a zombie.
     *
     * @param uid its real uid; null if unknown
     */
    public record LiveProcess(int pid, @Nullable Long uid) {}

    /**
     * The Jupyter kernels.
     *
     * @param files the names of the connection files, such as {@code kernel-0b5eb0d4.json}, that arguments of processes end in; at least
     *     those that {@code envs.json} names
     * @param unsearched which processes were not searched and why, as a clause; empty if all were searched, or if none had to be
     */
    public record Kernels(Set<String> files, String unsearched) {
        public static final Kernels NONE = new Kernels(Set.of(), "");
    }
}
