package dev.genv.enforcer.recording;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.genv.enforcer.model.HostUsers;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.microprofile.openapi.annotations.media.Schema;
import org.jspecify.annotations.Nullable;

/**
 * What a policy would have done to a user.
 *
 * @param user null for what has no known user
 * @param actions the first ones, at most 100
 * @param omitted the number of actions that are counted and not listed
 */
@Schema(name = "ReplayedUserView")
public record ReplayedUser(
        @Nullable String user, long terminations, long detachments, long omitted, List<ReplayedAction> actions) {

    /** Counts the actions of a user. Users choose the number of their processes, so only the first actions are listed. */
    static final class Counter {
        static final int MAX_LISTED = 100;

        private final List<ReplayedAction> listed = new ArrayList<>();
        private long terminations;
        private long detachments;

        /** Counts an action, and returns whether it is listed too. */
        boolean add(ReplayedAction action, boolean mayBeListed) {
            if (action.pid != null) {
                terminations++;
            } else {
                detachments++;
            }
            return mayBeListed && listed.size() < MAX_LISTED && listed.add(action);
        }

        long actions() {
            return terminations + detachments;
        }

        ReplayedUser result(String user) {
            return new ReplayedUser(
                    user.equals(HostUsers.UNKNOWN) ? null : user,
                    terminations,
                    detachments,
                    actions() - listed.size(),
                    List.copyOf(listed));
        }
    }

    /**
     * An action that a policy would have executed; only the fields of its type are present. It keeps no list and no text whose length users
     * choose.
     *
     * @param startTime of the process, in clock ticks since boot
     * @param message the violation in genv's words
     */
    @Schema(name = "ReplayedActionView")
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record ReplayedAction(
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
        static ReplayedAction of(Instant at, PlannedAction planned) {
            var host = planned.action().host();
            var rules = planned.ruleNames();
            var message = planned.causes().getFirst().message();
            var eid = planned.action().environmentId();
            var environment = eid.isEmpty() ? null : SafeText.bounded(eid);
            return switch (planned.action()) {
                case Action.Terminate(var _, var process, var _) ->
                    new ReplayedAction(
                            "terminate",
                            at,
                            host,
                            rules,
                            message,
                            process.pid(),
                            process.id().startTime(),
                            process.uid(),
                            process.command(),
                            environment,
                            process.devices(),
                            null);
                case Action.Detach(var _, var _, var device, var _) ->
                    new ReplayedAction(
                            "detach", at, host, rules, message, null, null, null, null, environment, null, device);
            };
        }
    }
}
