package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.ProcessId;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a host that keep their memory from being read. They are left alone for a while, and of a user who has
 * many of them, so are all others: he must not use up the time that there is for everybody.
 */
final class SilentProcesses {
    static final int MOST_OF_A_USER = 8;
    private static final long ROOT = 0;

    private final HangBackoff<ProcessId> backoff;
    private List<GpuProcess> seen = List.of();

    SilentProcesses(LongSupplier nanos) {
        backoff = new HangBackoff<>(nanos);
    }

    /** Those that are not to be asked now. */
    Set<ProcessId> left() {
        var left = new HashSet<>(backoff.paused());
        var owners = seen.stream()
                .filter(process -> left.contains(process.id()))
                .collect(Collectors.groupingBy(process -> owner(process.uid()), Collectors.counting()));
        seen.stream()
                .filter(process -> owner(process.uid()) != ROOT)
                .filter(process -> owners.getOrDefault(owner(process.uid()), 0L) >= MOST_OF_A_USER)
                .forEach(process -> left.add(process.id()));
        return left;
    }

    /**
     * Takes in what came of a look.
     *
     * @param silent those that did not answer
     * @param left those that were not asked
     */
    void heard(List<GpuProcess> processes, Collection<ProcessId> silent, Set<ProcessId> left) {
        seen = List.copyOf(processes);
        // One that was not asked has not hung again; nor has one that has its pid by now.
        var notAsked = left.stream().map(ProcessId::pid).collect(Collectors.toUnmodifiableSet());
        silent.stream().filter(id -> !notAsked.contains(id.pid())).forEach(backoff::hung);
        processes.stream()
                .map(GpuProcess::id)
                .filter(id -> !silent.contains(id))
                .forEach(backoff::answered);
    }

    /** Forgets one that has ended. */
    void ended(ProcessId process) {
        backoff.answered(process);
    }

    /** Root may be many people, each in a container; so may be one whose uid is not known. */
    private static long owner(@Nullable Long uid) {
        return Objects.requireNonNullElse(uid, ROOT);
    }
}
