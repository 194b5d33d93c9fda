package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Function;

/** A machine that shows what it is told to show and keeps what is asked of it. */
public final class FakeHost implements Host {
    private final String name;
    private volatile Callable<Snapshot> view;
    private volatile Function<Action, Result> answer = FakeHost::done;
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

    @Override
    public String name() {
        return name;
    }

    @Override
    public Look look() throws InterruptedException {
        try {
            return new Look(view.call(), "fake", null);
        } catch (InterruptedException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public List<Result> perform(List<Action> actions) {
        performed.addAll(actions);
        return actions.stream().map(answer).toList();
    }

    private static Result done(Action action) {
        return Result.of(action instanceof Action.Terminate ? Outcome.SIGNALLED : Outcome.DETACHED);
    }
}
