package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A host that returns given snapshots and records the actions. */
public final class FakeHost implements Host {
    private final String name;
    private volatile Callable<Snapshot> snapshotSource;
    private volatile Function<Action, Result> answer = FakeHost::defaultResult;
    private final Set<ProcessId> exited = new HashSet<>();
    private volatile long ticks = 1_000_000;
    private volatile String readOnlyReason;
    private volatile String machine;
    private volatile Remembered remembered = Remembered.NOTHING;
    private volatile Accounts accounts = Accounts.NONE;
    private volatile Boolean hasGenv;
    private volatile List<DeviceStatus> devices = List.of();
    private volatile List<String> missingPrivileges = List.of();
    public final List<Action> executed = new ArrayList<>();
    /** What the last observation was to know of the policy. */
    public volatile PolicyValues policy = PolicyValues.NONE;

    public FakeHost(HostBuilder host) {
        this.name = host.snapshot().host();
        setSnapshot(host);
    }

    public FakeHost setSnapshot(HostBuilder host) {
        snapshotSource = host::snapshot;
        return this;
    }

    /** Sets what an observation does. */
    public FakeHost observeWith(Callable<Snapshot> something) {
        snapshotSource = something;
        return this;
    }

    /** Has each observation report that it has begun, and wait for the release, also if its thread is interrupted. */
    public FakeHost hang(CompletableFuture<Boolean> begun, CompletableFuture<Boolean> release) {
        var shown = snapshotSource;
        return observeWith(() -> {
            begun.complete(true);
            release.join();
            return shown.call();
        });
    }

    public FakeHost answerWith(Function<Action, Result> something) {
        answer = something;
        return this;
    }

    /** Sets a process as exited. */
    public FakeHost setExited(ProcessId process) {
        exited.add(process);
        return this;
    }

    /** Sets the ticks since boot. */
    public FakeHost setTicks(long sinceBoot) {
        ticks = sinceBoot;
        return this;
    }

    /** Makes the host read-only. */
    public FakeHost readOnly(String why) {
        readOnlyReason = why;
        return this;
    }

    /** Sets the missing privileges. */
    public FakeHost setMissingPrivileges(String... privileges) {
        missingPrivileges = List.of(privileges);
        return this;
    }

    /** Sets the local accounts, uids by name. */
    public FakeHost setAccounts(Map<String, Long> uids) {
        return setAccounts(new Accounts(uids));
    }

    /** Sets the local accounts, with their groups. */
    public FakeHost setAccounts(Accounts local) {
        accounts = local;
        return this;
    }

    /** Sets what is observed only for those who watch it. */
    public FakeHost setStatus(Boolean isGenvs, List<DeviceStatus> ofDevices) {
        hasGenv = isGenvs;
        devices = ofDevices;
        return this;
    }

    /** Sets the identity of the machine. */
    public FakeHost setMachine(String identity) {
        machine = identity;
        return this;
    }

    /** What it continues with. */
    @Override
    public Remembered remembered() {
        return remembered;
    }

    @Override
    public void restore(Remembered earlier) {
        remembered = earlier;
    }

    @Override
    public void apply(PolicyValues now) {
        policy = now;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Snapshot observe(Set<ProcessId> pending) throws UnreachableException, InterruptedException {
        try {
            var snapshot = snapshotSource.call();
            var ended = pending.stream().filter(this.exited::contains).collect(Collectors.toSet());
            return snapshot.with(new HostDetails(
                    HostDetails.Answer.UNTIMED,
                    machine,
                    ticks,
                    ended,
                    missingPrivileges,
                    readOnlyReason,
                    accounts,
                    devices,
                    new HostDetails.Shown(null, null, hasGenv)));
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

    /** Observes it, and verifies the processes that have exited. */
    public Snapshot observe() {
        try {
            return observe(exited);
        } catch (UnreachableException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Result defaultResult(Action action) {
        return Result.of(action instanceof Action.Terminate ? Outcome.SIGNALLED : Outcome.DETACHED);
    }
}
