package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Machine.ObservationRequest;
import dev.genv.enforcer.genv.DevicesFile.AttachmentId;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
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

/** A host: the machine that delivers facts and executes instructions, and the observer that interprets the facts. */
public final class ObservedHost implements Host {
    private static final String NEVER_OBSERVED = "this host was not observed before";

    private final ObserverSettings settings;
    private final Machine machine;
    private final Observer observer;
    private final IdentityFlapping identityFlapping = new IdentityFlapping();
    private @Nullable String readOnlyReason = NEVER_OBSERVED;
    private Map<ProcessId, EnvironFacts> environs = Map.of();

    public ObservedHost(ObserverSettings settings, Machine machine) {
        this.settings = settings;
        this.machine = machine;
        observer = new Observer(settings);
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
        var facts = machine.gather(new ObservationRequest(
                verified,
                observer.settled(),
                observer.attributed(),
                observer.needsDeviceMemory(),
                observer.unlisted().needsDeviceHolders(),
                observer.reusedPids(),
                Stream.concat(verified.stream().map(ProcessId::pid), observer.unread().stream())
                        .toList(),
                observer.subordinateUids()));
        var observation = observer.observe(facts, verified);
        environs = environs(facts, observation);
        readOnlyReason = observation.readOnlyReason();
        identityFlapping.recordObservation();
        return observation;
    }

    @Override
    public void execute(List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var reason = readOnlyReason;
        if (reason != null) {
            actions.forEach(action -> done.accept(action, Result.failed(reason)));
            return;
        }
        var instructions = new ArrayList<Instruction>();
        var actionsByOrder = new IdentityHashMap<Instruction, Action>(); // two equal ones are two actions
        for (var action : actions) {
            var immunity = action instanceof Action.Terminate terminate
                    ? terminate.process().immunity()
                    : null;
            if (immunity != null) {
                done.accept(action, SignalCheck.result(immunity));
                continue;
            }
            var order = order(action);
            instructions.add(order);
            actionsByOrder.put(order, action);
        }
        machine.execute(
                instructions,
                (order, reply) -> done.accept(Objects.requireNonNull(actionsByOrder.get(order)), result(reply)));
    }

    private Instruction order(Action action) {
        return switch (action) {
            case Action.Terminate terminate -> order(terminate);
            case Action.Detach detach -> new Instruction.Detach(new AttachmentId(detach.device(), detach.attachment()));
        };
    }

    private Instruction order(Action.Terminate action) {
        var process = action.process();
        var immunity = observer.immunity();
        return new Instruction.Terminate(
                process.id(),
                action.signal() == Signal.KILL,
                new Instruction.Expected(
                        process.uid(),
                        immunity.exempt(),
                        immunity.protectedFiles(process.uid()),
                        environs.get(process.id()),
                        observer.environ(process.id()).addresses()),
                new SignalCheck(
                        process, observer.environ(process.id()), observer::immunity, immunity, identityFlapping));
    }

    private Result result(InstructionResult reply) {
        return switch (reply) {
            case InstructionResult.Finished(var result) -> result;
            case InstructionResult.Locked(var lock) ->
                Result.failed(StateParser.lockProblem(lock).map(Problem::detail).orElse("genv.lock is not available"));
            case InstructionResult.Unreadable(var devices) ->
                Result.failed("devices.json: " + StateParser.clause(devices));
            case InstructionResult.Inaccessible(var directory) ->
                Result.lost(StateParser.directoryProblem(settings.stateDirectory(), directory)
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
