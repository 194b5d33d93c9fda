package dev.genv.enforcer.observation.state;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.StateFacts.LockFacts;
import dev.genv.enforcer.format.linux.ProcStat;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Why genv's lock is not available, and which process holds it. */
public final class LockProblem {
    private static final String NAME = "genv.lock";
    private static final int MAX_NAMED = 3;

    private LockProblem() {}

    /** Returns the problem; empty if the lock was taken, or if that was not attempted. */
    public static Optional<Problem> of(LockFacts lock) {
        return switch (lock.outcome()) {
            case HELD, NOT_ATTEMPTED -> Optional.empty();
            case TIMEOUT ->
                Optional.of(new Problem(
                        ProblemCode.LOCK_TIMEOUT,
                        "%s is held by another program, for longer than %d ms: %s"
                                .formatted(NAME, lock.limit().toMillis(), holders(lock.holders()))));
            case UNUSABLE -> Optional.of(new Problem(ProblemCode.LOCK_UNUSABLE, NAME + " " + lock.reason()));
        };
    }

    private static String holders(@Nullable List<LockFacts.Holder> holders) {
        if (holders == null) {
            return "the holder cannot be read";
        }
        if (holders.isEmpty()) {
            return "/proc/locks does not show the holder";
        }
        var named = holders.stream().limit(MAX_NAMED).map(LockProblem::name).collect(Collectors.joining(", "));
        var more = holders.size() - MAX_NAMED;
        return more > 0 ? named + " and %d more".formatted(more) : named;
    }

    private static String name(LockFacts.Holder holder) {
        if (holder.pid() <= 0) {
            return "a process of another PID namespace";
        }
        var stat = Optional.ofNullable(holder.stat()).map(Bytes::text).flatMap(ProcStat::tryParse);
        return stat.isEmpty() || holder.uid() == null
                ? "process %d, which has exited; a child of it may still hold the lock".formatted(holder.pid())
                : "process %d (%s) of uid %d".formatted(holder.pid(), stat.get().command(), holder.uid());
    }
}
