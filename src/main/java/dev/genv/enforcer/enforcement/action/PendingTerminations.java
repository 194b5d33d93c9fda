package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.action.Termination.NextSignal;
import dev.genv.enforcer.enforcement.action.Termination.Pending;
import dev.genv.enforcer.enforcement.action.Termination.Sighting;
import dev.genv.enforcer.enforcement.action.Termination.TerminationTimes;
import dev.genv.enforcer.enforcement.history.SeenFleet;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The terminations that are pending, by process. Workers whose result is no longer awaited also record here. */
public final class PendingTerminations {
    public static final SavedKind<HostProcess, Saved> TERMINATIONS =
            new SavedKind<>("termination", HostProcess.class, Saved.class, HostProcess::host);

    private final TerminationTimes times;
    private final Ticker ticker;
    private final Map<HostProcess, Pending> pending = new HashMap<>();

    /** What is saved of a process. */
    public record Saved(Pending pending) {}

    /** Creates an empty list; the ticker is the clock that counts towards an action. */
    public PendingTerminations(TerminationTimes times, Ticker ticker) {
        this.times = times;
        this.ticker = ticker;
    }

    /** Returns the pending terminations, to continue them in another run of the service. */
    public synchronized SavedState save() {
        var saved = new HashMap<HostProcess, Saved>();
        pending.forEach((process, state) -> saved.put(
                process,
                new Saved(
                        state instanceof Termination.Breaking breaking
                                ? breaking.with(breaking.progress().toSave())
                                : state)));
        return SavedState.EMPTY.with(TERMINATIONS, saved);
    }

    /** Continues the terminations that an earlier run of the service saved; the clock that counts towards an action continues too. */
    public synchronized void restore(SavedState saved, SavedCycle last) {
        saved.get(TERMINATIONS)
                .forEach((process, termination) -> pending.put(
                        process,
                        termination.pending instanceof Termination.Breaking breaking
                                ? breaking.with(breaking.progress().restore(last.observed()))
                                : termination.pending));
    }

    /** Returns all processes that were signalled and have not exited, as far as is known. */
    public synchronized Set<HostProcess> all() {
        return Set.copyOf(pending.keySet());
    }

    /** Returns the signalled processes that rules treat as gone, because they exit or get SIGKILL. */
    public synchronized Set<HostProcess> expectedToExit() {
        var now = ticker.mark();
        return pending.entrySet().stream()
                .filter(entry -> Termination.isExpectedToExit(entry.getValue(), now, times))
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    public synchronized void record(PlannedAction planned, Action.Terminate action, Result result) {
        var now = ticker.mark();
        var known = pending.get(action.target());
        if (result.outcome() == Outcome.SIGNALLED) {
            pending.put(
                    action.target(),
                    action.signal() == Signal.KILL && known != null
                            ? Termination.killed(known, planned, now)
                            : Termination.signalled(planned, now));
        } else if (result.uncertain() && known == null) {
            pending.put(action.target(), Termination.possiblySignalled(planned, now));
        }
    }

    synchronized boolean contains(HostProcess process) {
        return pending.containsKey(process);
    }

    synchronized List<HostProcess> processesOn(String host) {
        return pending.keySet().stream()
                .filter(process -> process.host().equals(host))
                .sorted()
                .toList();
    }

    /** Records which hosts are in the list and which processes have exited, and returns the last action on each of these. */
    synchronized List<PlannedAction> recordExits(SeenFleet seen) {
        for (var process : all()) {
            if (seen.host(process.host()).isEmpty()) {
                record(process, Sighting.HOST_NOT_LISTED);
            }
        }
        var exited = new ArrayList<PlannedAction>();
        for (var host : seen.hosts()) {
            for (var id : host.ended()) {
                if (record(new HostProcess(host.host(), id), Sighting.EXITED).orElse(null)
                        instanceof Termination.Exited(var last)) {
                    exited.add(last);
                }
            }
        }
        return exited;
    }

    /** Records what was observed of a process, and returns its state after that; empty if it is not pending. */
    synchronized Optional<Termination> record(HostProcess process, Sighting sighting) {
        var known = pending.get(process);
        if (known == null) {
            return Optional.empty();
        }
        var state = Termination.observed(known, sighting, ticker.mark(), times);
        switch (state) {
            case Pending still -> pending.put(process, still);
            case Termination.Exited _, Termination.Forgotten _ -> pending.remove(process);
        }
        return Optional.of(state);
    }

    /** Returns the signals that follow if the processes continue to break rules. */
    public synchronized List<NextSignal> nextSignals() {
        var now = ticker.mark();
        return pending.keySet().stream()
                .sorted()
                .flatMap(process -> Termination.next(Objects.requireNonNull(pending.get(process)), now, times).stream())
                .toList();
    }

    /** Returns the violations for which a process was signalled. */
    synchronized Set<Violation.Key> causesOf(HostProcess process) {
        return Optional.ofNullable(pending.get(process)).stream()
                .flatMap(known -> known.progress().last().causes().stream())
                .map(Violation::key)
                .collect(Collectors.toUnmodifiableSet());
    }
}
