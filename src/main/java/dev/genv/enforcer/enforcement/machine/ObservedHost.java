package dev.genv.enforcer.enforcement.machine;

import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.host.GenvFacts;
import dev.genv.enforcer.facts.host.HostFacts;
import dev.genv.enforcer.format.DevicesFile.AttachmentId;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.genv.GenvObserver;
import dev.genv.enforcer.observation.membership.Listings;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.observation.state.DirectoryProblem;
import dev.genv.enforcer.observation.state.LockProblem;
import dev.genv.enforcer.observation.state.StateParser;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Signal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A host: the machine that delivers facts and executes orders, and the observer that interprets the facts. */
public final class ObservedHost implements Host {
    private static final String NEVER_OBSERVED = "this host was not observed before";

    private final ObserverSettings settings;
    private final Machine machine;
    private final Observer observer;
    private final GenvObserver genvObserver;
    private final IdentityFlapping identityFlapping = new IdentityFlapping();
    private @Nullable String readOnlyReason = NEVER_OBSERVED;
    private Map<ProcessId, EnvironFacts> environs = Map.of();

    public ObservedHost(ObserverSettings settings, Machine machine) {
        this.settings = settings;
        this.machine = machine;
        observer = new Observer(settings);
        genvObserver = new GenvObserver(settings);
    }

    @Override
    public String name() {
        return settings.host();
    }

    @Override
    public void restore(Listings listings) {
        observer.restore(listings);
    }

    @Override
    public Observation observe(Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        var observation = switch (machine.gather(new Interest(
                verified,
                observer.settled(),
                observer.attributed(),
                observer.needsDeviceMemory(),
                observer.unlisted().needsDeviceHolders(),
                observer.reusedPids(),
                Stream.concat(verified.stream().map(ProcessId::pid), observer.unread().stream())
                        .toList(),
                observer.subordinateUids()))) {
            case HostFacts facts -> observe(facts, verified);
            case GenvFacts facts -> observe(facts, verified);
        };
        readOnlyReason = observation.readOnlyReason();
        identityFlapping.recordObservation();
        return observation;
    }

    private Observation observe(HostFacts facts, Set<ProcessId> verified) {
        var observation = observer.observe(facts, verified);
        environs = environs(facts, observation);
        return observation;
    }

    private Observation observe(GenvFacts facts, Set<ProcessId> verified) throws UnreachableException {
        try {
            return genvObserver.observe(facts, verified);
        } catch (UnreadableException e) {
            throw new UnreachableException(ProblemCode.ANSWER_UNREADABLE, "genv's answer " + e.getMessage(), e);
        }
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var reason = readOnlyReason;
        if (reason != null) {
            actions.forEach(action -> done.accept(action, Result.failed(reason)));
            return;
        }
        var orders = new ArrayList<Order>();
        var actionsByOrder = new IdentityHashMap<Order, Action>(); // two equal orders are two actions
        for (var action : actions) {
            var immunity = action instanceof Action.Terminate terminate
                    ? terminate.process().immunity()
                    : null;
            if (immunity != null) {
                done.accept(action, SignalCheck.result(immunity));
                continue;
            }
            var order = order(action);
            orders.add(order);
            actionsByOrder.put(order, action);
        }
        machine.execute(
                orders,
                (order, reply) -> done.accept(Objects.requireNonNull(actionsByOrder.get(order)), result(reply)));
    }

    private Order order(Action action) {
        return switch (action) {
            case Action.Terminate terminate -> order(terminate);
            case Action.Detach detach -> new Order.Detach(new AttachmentId(detach.device(), detach.attachment()));
        };
    }

    private Order order(Action.Terminate action) {
        var process = action.process();
        var immunity = observer.immunity();
        return new Order.Terminate(
                process.id(),
                action.signal() == Signal.KILL,
                new Order.Expected(
                        process.uid(),
                        immunity.exempt(),
                        immunity.protectedFiles(process.uid()),
                        environs.get(process.id()),
                        observer.environ(process.id()).addresses()),
                new SignalCheck(
                        process, observer.environ(process.id()), observer::immunity, immunity, identityFlapping));
    }

    private Result result(Reply reply) {
        return switch (reply) {
            case Reply.Finished(var result) -> result;
            case Reply.Locked(var lock) ->
                Result.failed(LockProblem.of(lock).map(Problem::detail).orElse("genv.lock is not available"));
            case Reply.Unreadable(var devices) -> Result.failed("devices.json: " + StateParser.clause(devices));
            case Reply.Inaccessible(var directory) ->
                Result.lost(DirectoryProblem.of(settings.stateDirectory(), directory)
                        .map(Problem::detail)
                        .orElse("the state directory was not accessed"));
        };
    }

    private static Map<ProcessId, EnvironFacts> environs(HostFacts facts, Observation observation) {
        var byPid = new HashMap<Integer, EnvironFacts>();
        for (var process : facts.processes()) {
            if (process.environ() instanceof Reading.Value<EnvironFacts>(var environ)) {
                byPid.put(process.pid(), environ);
            }
        }
        var environs = new HashMap<ProcessId, EnvironFacts>();
        for (var process : observation.snapshot().processes()) {
            var environ = byPid.get(process.pid());
            if (environ != null) {
                environs.put(process.id(), environ);
            }
        }
        return environs;
    }
}
