package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.policy.plan.Action;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A machine that shows what it is told to show and keeps what is asked of it. */
public final class FakeHost implements Host {
    private final String name;
    private volatile Callable<Snapshot> snapshotSource;
    private volatile Function<Action, Result> answer = FakeHost::defaultResult;
    private final Set<ProcessId> exited = new HashSet<>();
    private volatile long ticks = 1_000_000;
    private volatile String readOnlyReason;
    private volatile String machine;
    private volatile Duration lockWait;
    private volatile Long stateChangedAt;
    private volatile List<String> missingPrivileges = List.of();
    public final List<Action> executed = new ArrayList<>();

    public FakeHost(HostBuilder host) {
        this.name = host.snapshot().host();
        setSnapshot(host);
    }

    public FakeHost setSnapshot(HostBuilder host) {
        snapshotSource = host::snapshot;
        return this;
    }

    /** From now on looking at it does this. */
    public FakeHost observeWith(Callable<Snapshot> something) {
        snapshotSource = something;
        return this;
    }

    public FakeHost answerWith(Function<Action, Result> something) {
        answer = something;
        return this;
    }

    /** From now on it knows that this process is gone. */
    public FakeHost setExited(ProcessId process) {
        exited.add(process);
        return this;
    }

    /** From now on it is so many ticks since boot. */
    public FakeHost setTicks(long sinceBoot) {
        ticks = sinceBoot;
        return this;
    }

    /** From now on nothing may be done on it. */
    public FakeHost readOnly(String why) {
        readOnlyReason = why;
        return this;
    }

    /** From now on these are missing on it. */
    public FakeHost setMissingPrivileges(String... privileges) {
        missingPrivileges = List.of(privileges);
        return this;
    }

    /** From now on genv's lock is waited for so long on it. */
    public FakeHost setLockWait(Duration wait) {
        lockWait = wait;
        return this;
    }

    /** From now on its state was last changed at that many ticks since boot. */
    public FakeHost stateChangedAt(long sinceBoot) {
        stateChangedAt = sinceBoot;
        return this;
    }

    /** From now on it is this machine. */
    public FakeHost setMachine(String identity) {
        machine = identity;
        return this;
    }

    /** Lets this observe it as it was at that many ticks, with nothing on it. */
    public void observedBefore(long sinceBoot, Runnable observation) {
        var now = snapshotSource;
        var ticksNow = ticks;
        setSnapshot(HostBuilder.host(name).devices(2)).setTicks(sinceBoot);
        observation.run();
        snapshotSource = now;
        ticks = ticksNow;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Observation observe(Set<ProcessId> pending) throws UnreachableException, InterruptedException {
        try {
            var snapshot = snapshotSource.call();
            var ended = pending.stream().filter(this.exited::contains).collect(Collectors.toSet());
            return new Observation(
                    snapshot,
                    "fake",
                    null,
                    ticks,
                    ended,
                    missingPrivileges,
                    readOnlyReason,
                    machine,
                    lockWait,
                    stateChangedAt);
        } catch (UnreachableException | InterruptedException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done) {
        for (var action : actions) {
            executed.add(action);
            done.accept(action, answer.apply(action));
        }
    }

    private static Result defaultResult(Action action) {
        return Result.of(action instanceof Action.Terminate ? Outcome.SIGNALLED : Outcome.DETACHED);
    }
}
