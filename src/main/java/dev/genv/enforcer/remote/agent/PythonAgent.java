package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.Advice;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observer;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.Agent;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRunner;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Observes a machine and acts on it with a Python program that is sent there each time, so that nothing is installed. */
public final class PythonAgent implements Agent {
    private static final Logger LOG = Logger.getLogger(PythonAgent.class);
    private static final long MILLIS_PER_TICK = 10;

    private final String name;
    private final AgentConfig config;
    private final AgentCommand command;
    private final LongSupplier nanos;
    private final Observer observer;
    private final List<String> programs;
    private final HostMemory memory;
    private final IdentityFlapping flapping = new IdentityFlapping();
    private @Nullable LastObservation seen;
    private Answer.@Nullable Handles handles;

    /** Returns the agents of one service, each for the machine with a name. */
    public static Function<String, Agent> ofOneService(AgentConfig config) {
        var random = new SecureRandom();
        var service = HexFormat.of().toHexDigits(random.nextLong());
        var command = new AgentCommand(config, AgentCommand.Places.USUAL, service, random);
        return name -> new PythonAgent(name, config, command, System::nanoTime);
    }

    /**
     * Creates the agent of one machine.
     *
     * @param name its name in reports
     * @param nanos as {@link System#nanoTime}
     */
    PythonAgent(String name, AgentConfig config, AgentCommand command, LongSupplier nanos) {
        this.name = name;
        this.config = config;
        this.command = command;
        this.nanos = nanos;
        var settings = new ObserverSettings(
                name,
                config.stateDirectory(),
                config.protectedExecutables(),
                config.exemptUsers(),
                config.requireHostPid(),
                config.acts(),
                config.signals(),
                Advice.LOGIN);
        observer = new Observer(settings);
        programs = settings.programs().stream()
                .map(program -> program.path().toString())
                .toList();
        memory = new HostMemory(nanos);
    }

    @Override
    public Observation observe(CommandRunner machine, Set<ProcessId> verified)
            throws UnreachableException, InterruptedException {
        seen = null;
        var start = nanos.getAsLong();
        var omitted = memory.omitted();
        var reply = command.run(machine, common -> request(common, verified, omitted));
        try {
            var answer = observed(reply);
            memory.record(answer, omitted);
            var observation = observer.observe(answer.facts(), verified);
            seen = LastObservation.of(answer.facts(), observation.readOnlyReason(), observer.immunity(), start);
            return observation;
        } catch (UnreadableAnswerException e) {
            throw e.unreachable();
        }
    }

    private Request request(Request.Common common, Set<ProcessId> verified, HostMemory.Omitted omitted) {
        return new Request.Observe(
                common,
                config.acts(),
                new Request.Gpu(
                        config.nvidiaSmi(),
                        config.gpuTimeout(),
                        List.of(GpuQuery.FORMAT),
                        GpuQuery.PROCESSES,
                        GpuQuery.DEVICES,
                        omitted.tool()),
                omitted.kernels(),
                pids(omitted.processes()),
                pids(verified),
                omitted.passwd(),
                omitted.subuid(),
                programs);
    }

    private static List<Integer> pids(Collection<ProcessId> processes) {
        return processes.stream().map(ProcessId::pid).distinct().toList();
    }

    private Answer.Observed observed(AgentCommand.Reply reply) throws UnreadableAnswerException, UnreachableException {
        var json = reply.output().json();
        if (json == null) {
            throw reply.failure();
        }
        return switch (AgentJson.read(json, Answer.class)) {
            case Answer.Observed observed when observed.facts().programs().size() == programs.size() -> observed;
            case Answer.Observed _ -> throw new UnreadableAnswerException("not all protected programs are in it");
            case Answer.Failed(var why) -> throw AgentFailure.of(why);
            case Answer.Acted _ -> throw new UnreadableAnswerException("it is the answer to another request");
        };
    }

    @Override
    public void execute(CommandRunner machine, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var known = seen;
        var obstacle =
                known == null ? "the host was not observed since its connection was lost" : known.readOnlyReason();
        if (known == null || obstacle != null) {
            var failed = Result.failed(String.valueOf(obstacle));
            actions.forEach(action -> done.accept(action, failed));
            return;
        }
        var passed = Duration.ofNanos(nanos.getAsLong() - known.nanos());
        var deadline = known.ticks() + passed.plus(config.timeout()).toMillis() / MILLIS_PER_TICK;
        log(new RemoteActions(known, deadline, flapping, done).run(actions, command, machine));
    }

    /** Logs once whether a signal can reach a process that took over the pid at this moment. */
    private void log(Answer.@Nullable Handles now) {
        if (now == Answer.Handles.COMPARISON && now != handles) {
            LOG.infof(
                    "[%s] This machine has no process descriptors (pidfd): a process is compared directly before its signal",
                    name);
        }
        handles = now == null ? handles : now;
    }
}
