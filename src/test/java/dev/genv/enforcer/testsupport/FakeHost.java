package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
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
    private volatile Callable<Snapshot> view;
    private volatile Function<Action, Result> answer = FakeHost::done;
    private final Set<ProcessId> ended = new HashSet<>();
    private volatile long ticks = 1_000_000;
    private volatile String watchesOnly;
    private volatile String machine;
    private volatile Duration lockWait;
    private volatile Long stateChangedAt;
    private volatile List<String> missingRights = List.of();
    public final List<Action> performed = new ArrayList<>();

    public FakeHost(HostBuilder host) {
        this.name = host.snapshot().host();
        shows(host);
    }

    public FakeHost shows(HostBuilder host) {
        view = host::snapshot;
        return this;
    }

    /** From now on looking at it does this. */
    public FakeHost looksLike(Callable<Snapshot> something) {
        view = something;
        return this;
    }

    public FakeHost answers(Function<Action, Result> something) {
        answer = something;
        return this;
    }

    /** From now on it knows that this process is gone. */
    public FakeHost ends(ProcessId process) {
        ended.add(process);
        return this;
    }

    /** From now on it is so many ticks since boot. */
    public FakeHost at(long sinceBoot) {
        ticks = sinceBoot;
        return this;
    }

    /** From now on nothing may be done on it. */
    public FakeHost watchesOnly(String why) {
        watchesOnly = why;
        return this;
    }

    /** From now on these are missing on it. */
    public FakeHost lacks(String... rights) {
        missingRights = List.of(rights);
        return this;
    }

    /** From now on genv's lock is waited for so long on it. */
    public FakeHost waitsForTheLock(Duration wait) {
        lockWait = wait;
        return this;
    }

    /** From now on its state was last changed at that many ticks since boot. */
    public FakeHost stateChangedAt(long sinceBoot) {
        stateChangedAt = sinceBoot;
        return this;
    }

    /** From now on it is this machine. */
    public FakeHost is(String identity) {
        machine = identity;
        return this;
    }

    /** Lets this observe it as it was at that many ticks, with nothing on it. */
    public void observedBefore(long sinceBoot, Runnable observation) {
        var now = view;
        var ticksNow = ticks;
        shows(HostBuilder.host(name).devices(2)).at(sinceBoot);
        observation.run();
        view = now;
        ticks = ticksNow;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Look look(Set<ProcessId> asked) throws UnreachableException, InterruptedException {
        try {
            var snapshot = view.call();
            var ended = asked.stream().filter(this.ended::contains).collect(Collectors.toSet());
            return new Look(
                    snapshot,
                    "fake",
                    null,
                    ticks,
                    ended,
                    missingRights,
                    watchesOnly,
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
    public void perform(List<Action> actions, BiConsumer<Action, Result> done) {
        for (var action : actions) {
            performed.add(action);
            done.accept(action, answer.apply(action));
        }
    }

    private static Result done(Action action) {
        return Result.of(action instanceof Action.Terminate ? Outcome.SIGNALLED : Outcome.DETACHED);
    }
}
