package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What genv's state said before. Everybody can write it, so what it says now may be what a stranger made of it a moment ago;
 * against that there is no proof, but there is memory. It begins with the first look.
 */
final class Testimony {
    private final Ticker ticker;
    private final Duration newFor;
    private final Map<String, HostTestimony> hosts = new HashMap<>();
    private final UnobservedChanges unobserved;
    private QuotaHistory quotas;

    /**
     * An empty one.
     *
     * @param newFor for how long an attachment is new after it appeared
     */
    Testimony(Ticker ticker, Duration newFor) {
        this.ticker = ticker;
        this.newFor = newFor;
        unobserved = new UnobservedChanges(ticker);
        quotas = new QuotaHistory(ticker, newFor);
    }

    /** Takes in what the state says now. What cannot be read says nothing, and nothing is forgotten for it. */
    synchronized void hear(List<HostReport> reports) {
        unobserved.record(reports);
        quotas = new QuotaHistory(ticker, newFor);
        for (var report : reports) {
            var host = of(report.host());
            if (host.isOtherThan(report.machine())) {
                host = new HostTestimony(ticker);
                hosts.put(report.host(), host);
            }
            host.hear(report.snapshot(), report.ticks());
            host.isThere(report.machine());
            quotas.add(report.snapshot(), host);
        }
        hosts.values().removeIf(HostTestimony::isLongGone);
    }

    /** Which attachments it saw appear, of those that there are now; and whether recorded times tell the age of the others. */
    synchronized Appearances appearances(boolean trustsRecordedTimes) {
        return new Appearances(quotas.appearances(), trustsRecordedTimes);
    }

    /** An attachment is gone because we took it out; also told by a worker that nobody waits for any longer. */
    synchronized void detached(Action.Detach ours) {
        of(ours.host()).detached(ours.environment().eid(), ours.device());
    }

    /**
     * The change without which the violation would not be one, as far as this action is concerned.
     *
     * @return null where it would be one all the same
     */
    synchronized @Nullable Change behind(Violation cause, Action action) {
        var host = of(action.host());
        var process = processOf(action);
        if (cause.rule() == RuleName.NON_ENV_PROCESSES) {
            return process == null ? null : host.delisting(process);
        }
        var environment = host.environment(action.environmentId());
        if (environment == null) {
            return null;
        }
        return switch (cause.rule()) {
            case NON_ENV_PROCESSES, ENV_OWNER -> null;
            case INACTIVE_ENV_PROCESSES -> environment.death();
            case ENV_DEVICES ->
                first(environment.arrival(process), environment.attachments().removal(cause.devices()));
            case ENV_MEMORY ->
                first(environment.arrival(process), environment.capacity().lowered(cause));
            case MAX_DEVICES_PER_USER ->
                first(
                        environment.arrival(process),
                        first(environment.owner().change(), quotas.latestChange(cause.user())));
        };
    }

    /** Whether the state may have been changed under a process of the violation before the service observed both. */
    synchronized boolean mayHideAChange(Violation cause, Action action) {
        var environment = of(action.host()).environment(action.environmentId());
        return switch (cause.rule()) {
            // An attachment that was not observed before is new to the quota in any case, and a stranger waits in any
            // case.
            case MAX_DEVICES_PER_USER, ENV_OWNER -> false;
            case NON_ENV_PROCESSES, INACTIVE_ENV_PROCESSES, ENV_MEMORY ->
                unobserved.mayAffect(action.host(), cause.processes(), cause.devices());
            case ENV_DEVICES ->
                unobserved.mayAffect(
                        action.host(),
                        cause.processes(),
                        environment == null
                                ? cause.devices()
                                : environment.attachments().neverHeld(cause.devices()));
        };
    }

    /** For how long the service has observed what a violation may rest on; nothing where no unseen change can be behind it. */
    synchronized Optional<Duration> observedFor(Violation cause, Action action) {
        if (cause.rule() == RuleName.MAX_DEVICES_PER_USER) {
            return quotas.observedFor(cause.user());
        }
        return of(action.host()).observedFor(cause, processOf(action), action.environmentId());
    }

    /** Why a process cannot have been in the environment that it names, whatever the state says now. */
    synchronized Optional<String> captured(Action action) {
        var process = processOf(action);
        var environment = of(action.host()).environment(action.environmentId());
        return process == null || environment == null ? Optional.empty() : environment.captured(process);
    }

    /** Whether a live pid of the environment that a process names ever was of the uid of the process. */
    synchronized boolean wasOfItsUser(Action action) {
        var process = processOf(action);
        var environment = of(action.host()).environment(action.environmentId());
        return process != null && environment != null && environment.wasOf(process.uid());
    }

    private HostTestimony of(String host) {
        return hosts.computeIfAbsent(host, _ -> new HostTestimony(ticker));
    }

    private static @Nullable Change first(@Nullable Change one, @Nullable Change other) {
        return one == null ? other : one;
    }

    private static @Nullable GpuProcess processOf(Action action) {
        return action instanceof Action.Terminate(var _, var process, var _) ? process : null;
    }
}
