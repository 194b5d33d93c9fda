package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.policy.Words;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What genv's state said before. Everybody can write it, so what it says now may be what a stranger made of it a moment ago;
 * against that there is no proof, but there is memory, and time for people to notice.
 */
final class Testimony {
    private final Ticker ticker;
    private final Map<String, HostTestimony> hosts = new HashMap<>();

    Testimony(Ticker ticker) {
        this.ticker = ticker;
    }

    /** A change, and when it was seen by the clock that only goes on. */
    record Seen(Change change, long mark) {
        static Seen now(Ticker ticker, String before, String after) {
            return new Seen(new Change(Words.safe(before), Words.safe(after), ticker.now()), ticker.mark());
        }

        /** The same, as if it had been seen so much earlier. */
        Seen earlier(Duration by) {
            return new Seen(change, mark - by.toNanos());
        }
    }

    /** Takes in what the state says now. What cannot be read says nothing, and nothing is forgotten for it. */
    synchronized void hear(Fleet fleet) {
        for (var snapshot : fleet.snapshots()) {
            of(snapshot.host()).hear(snapshot);
        }
    }

    /** An attachment is gone because we took it out; also told by a worker that nobody waits for any longer. */
    synchronized void detached(Action.Detach ours) {
        of(ours.host()).detached(ours.environment().eid(), ours.device());
    }

    /** Forgets these changes: what the state says now is what it says. */
    synchronized void forget(Predicate<Seen> isOld) {
        hosts.values().forEach(host -> host.forget(isOld));
    }

    /**
     * The change without which the violation would not be one, as far as this action is concerned.
     *
     * @return null where it would be one all the same
     */
    @Nullable
    synchronized Seen behind(Violation cause, Action action) {
        var host = of(action.host());
        var named = environmentOf(action);
        return switch (cause.rule()) {
            case NON_ENV_PROCESSES ->
                action instanceof Action.Terminate(var _, var process, var _) ? host.unlisted(process.pid()) : null;
            case INACTIVE_ENV_PROCESSES -> host.died(named);
            case ENV_DEVICES -> host.vanished(named, cause.devices());
            case ENV_MEMORY -> host.lowered(named, cause);
            case MAX_DEVICES_PER_USER -> host.changedHands(named);
            case ENV_OWNER -> null;
        };
    }

    private HostTestimony of(String host) {
        return hosts.computeIfAbsent(host, _ -> new HostTestimony(ticker));
    }

    private static String environmentOf(Action action) {
        return switch (action) {
            case Action.Detach(var _, var environment, var _, var _) -> environment.eid();
            case Action.Terminate(var _, var process, var _) ->
                process.membership() instanceof Membership.InEnvironment(var eid) ? eid : "";
        };
    }
}
