package dev.genv.enforcer.api.view;

import dev.genv.enforcer.recording.Replay;
import dev.genv.enforcer.recording.ReplayedUser;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a policy would have done to the recorded past.
 *
 * @param recordedSince since when something is recorded; null if nothing is
 * @param from when the policy begins to apply; null if nothing is recorded of the period
 * @param to until when the past is replayed; null if nothing is recorded of the period
 * @param instants the number of instants at which the rules were checked: something had changed, or a grace period ended
 * @param complete whether the whole period was replayed; if not, the time limit ended the replay at {@code to}, or records are damaged or
 *     were too large
 * @param users those to whom the policy would have done something, the most affected first
 */
public record ReplayView(
        @Nullable Instant recordedSince,
        @Nullable Instant from,
        @Nullable Instant to,
        long instants,
        boolean complete,
        Totals totals,
        List<ReplayedUser> users) {

    /** The sums of all users. */
    public record Totals(int users, long terminations, long detachments) {}

    public static ReplayView of(Replay replay, @Nullable Instant recordedSince, boolean complete) {
        var users = replay.users();
        return new ReplayView(
                recordedSince,
                replay.from(),
                replay.to(),
                replay.instants(),
                complete,
                new Totals(
                        users.size(),
                        users.stream().mapToLong(ReplayedUser::terminations).sum(),
                        users.stream().mapToLong(ReplayedUser::detachments).sum()),
                users);
    }
}
