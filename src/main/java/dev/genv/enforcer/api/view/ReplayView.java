package dev.genv.enforcer.api.view;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.recording.replay.Replay;
import dev.genv.enforcer.recording.replay.ReplayedAction;
import dev.genv.enforcer.recording.replay.ReplayedAction.DetachedAttachment;
import dev.genv.enforcer.recording.replay.ReplayedAction.TerminatedProcess;
import dev.genv.enforcer.recording.replay.ReplayedUser;
import java.time.Instant;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.jspecify.annotations.Nullable;

/**
 * What a policy would have done to the recorded past.
 *
 * @param recordedSince since when something is recorded; null if nothing is
 * @param from the first replayed cycle; null if there is none in the period
 * @param to the last replayed cycle; null if there is none in the period
 * @param cycles the number of replayed cycles
 * @param complete whether the whole period was replayed; if not, the time limit ended the replay at {@code to}, or records are damaged or missing
 * @param users those to whom the policy would have done something, the most affected first
 */
public record ReplayView(
        @Nullable Instant recordedSince,
        @Nullable Instant from,
        @Nullable Instant to,
        long cycles,
        boolean complete,
        Totals totals,
        List<UserView> users) {

    /** The sums of all users. */
    public record Totals(int users, long terminations, long detachments) {}

    /**
     * What the policy would have done to a user.
     *
     * @param user null for what has no known user
     * @param actions the first ones, at most 100
     * @param omitted the number of actions that are counted and not listed
     */
    @Schema(name = "ReplayedUserView")
    public record UserView(
            @Nullable String user,
            long terminations,
            long detachments,
            long omitted,
            List<ReplayedActionView> actions) {
        static UserView of(ReplayedUser user) {
            var listed = user.listed();
            return new UserView(
                    user.name(),
                    user.terminations(),
                    user.detachments(),
                    user.actions() - listed.size(),
                    listed.stream().map(ReplayedActionView::of).toList());
        }
    }

    /**
     * An action; only the fields of its type are present.
     *
     * @param at the first cycle that asked for it
     * @param startTime of the process, in clock ticks since boot
     * @param message the violation in genv's words
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record ReplayedActionView(
            String type,
            Instant at,
            String host,
            List<String> rules,
            String message,
            @Nullable Integer pid,
            @Nullable Long startTime,
            @Nullable Long uid,
            @Nullable String command,
            @Nullable String environment,
            @Nullable List<Integer> devices,
            @Nullable Integer device) {
        static ReplayedActionView of(ReplayedAction action) {
            var rules = action.rules().stream().map(RuleDefinition::name).toList();
            return switch (action.target()) {
                case TerminatedProcess(var pid, var start, var uid, var command, var environment, var devices) ->
                    new ReplayedActionView(
                            "terminate",
                            action.at(),
                            action.host(),
                            rules,
                            action.message(),
                            pid,
                            start,
                            uid,
                            command,
                            environment,
                            devices,
                            null);
                case DetachedAttachment(var environment, var device) ->
                    new ReplayedActionView(
                            "detach",
                            action.at(),
                            action.host(),
                            rules,
                            action.message(),
                            null,
                            null,
                            null,
                            null,
                            environment,
                            null,
                            device);
            };
        }
    }

    public static ReplayView of(Replay replay, @Nullable Instant recordedSince, boolean complete) {
        var users = replay.users();
        return new ReplayView(
                recordedSince,
                replay.from(),
                replay.to(),
                replay.cycles(),
                complete,
                new Totals(
                        users.size(),
                        users.stream().mapToLong(ReplayedUser::terminations).sum(),
                        users.stream().mapToLong(ReplayedUser::detachments).sum()),
                users.stream().map(UserView::of).toList());
    }
}
