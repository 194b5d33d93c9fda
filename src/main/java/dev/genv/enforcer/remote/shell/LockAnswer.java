package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What came of taking genv's lock on a host. */
final class LockAnswer {
    private static final String NAME = "genv.lock";
    private static final int MAX_NAMED = 3;
    /** In hundredths of a second: a day, which is the longest time that can be set for anything. */
    private static final int LONGEST_WAIT = 24 * 60 * 60 * 100;

    private LockAnswer() {}

    /** Why it was not had, and who has it; nothing where it was, if there is none, or where nobody wanted it. */
    static Optional<Problem> trouble(Frames frames, String nonce) throws UnreachableException {
        var lock = frames.one("lock");
        return switch (lock.at(0)) {
            case "timeout" ->
                Optional.of(new Problem(
                        ProblemCode.LOCK_TIMEOUT,
                        "%s is held by another program, for longer than %s s: %s"
                                .formatted(NAME, lock.at(1), holders(frames, nonce))));
            case "unusable" -> Optional.of(new Problem(ProblemCode.LOCK_UNUSABLE, NAME + " " + lock.from(1)));
            default -> Optional.empty();
        };
    }

    /** How long it was waited for, to a hundredth of a second; null where nobody wanted it, or where nobody can believe it. */
    static @Nullable Duration waited(Frames frames) throws UnreachableException {
        var waited = frames.find("waited");
        if (waited.isEmpty() || waited.get().number(0) > LONGEST_WAIT) {
            return null;
        }
        return Duration.ofMillis(waited.get().number(0) * 10);
    }

    private static String holders(Frames frames, String nonce) throws UnreachableException {
        var frame = frames.one("holders");
        var stats = Stats.of(frame, nonce);
        var named = new ArrayList<String>();
        for (var pid : pids(frame)) {
            var stat = stats.stat(pid);
            var uid = stats.uid(pid);
            if (pid <= 0) {
                named.add("a process of another PID namespace");
            } else if (stat == null || uid == null) {
                named.add("process %d, which has exited; a child of it may still hold the lock".formatted(pid));
            } else {
                named.add("process %d (%s) of uid %d".formatted(pid, stat.command(), uid));
            }
        }
        if (named.isEmpty()) {
            return "/proc/locks does not show the holder";
        }
        var more = named.size() - MAX_NAMED;
        return String.join(", ", named.subList(0, Math.min(MAX_NAMED, named.size())))
                + (more > 0 ? " and %d more".formatted(more) : "");
    }

    /** They stand in front of what is told of them. */
    private static List<Integer> pids(Frame frame) throws UnreachableException {
        var pids = new ArrayList<Integer>();
        for (var i = 0; i < frame.words().size() - 2; i++) {
            pids.add((int) frame.number(i));
        }
        return pids.stream().distinct().toList();
    }
}
