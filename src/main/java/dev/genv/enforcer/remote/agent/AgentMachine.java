package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Machine.ObservationRequest;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentFailure;
import dev.genv.enforcer.remote.agent.AgentOutput.UnreadableAnswerException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** A machine to which a Python program is sent for each connection, so that nothing is installed there. */
public final class AgentMachine implements Machine {
    private static final Logger LOG = Logger.getLogger(AgentMachine.class);
    private static final long MILLIS_PER_TICK = 10;
    private static final InstructionResult NOT_OBSERVED =
            new InstructionResult.Finished(Result.failed("the host was not observed since its connection was lost"));

    private final String name;
    private final Connection connection;
    private final AgentConfig config;
    private final AgentCommand command;
    private final LongSupplier nanos;
    private final HostMemory memory;
    private RemoteActions.@Nullable LastObservation seen;
    private Answer.@Nullable Handles handles;

    /** Returns the machines of one service, each by its name and connection. */
    public static BiFunction<String, Connection, Machine> ofOneService(AgentConfig config) {
        var random = new SecureRandom();
        var service = HexFormat.of().toHexDigits(random.nextLong());
        var command = new AgentCommand(config, AgentCommand.Places.USUAL, service, random);
        return (name, connection) -> new AgentMachine(name, connection, config, command, System::nanoTime);
    }

    /**
     * Creates the machine without connecting.
     *
     * @param name its name in the log
     * @param nanos as {@link System#nanoTime}
     */
    AgentMachine(String name, Connection connection, AgentConfig config, AgentCommand command, LongSupplier nanos) {
        this.name = name;
        this.connection = connection;
        this.config = config;
        this.command = command;
        this.nanos = nanos;
        memory = new HostMemory(nanos);
    }

    @Override
    public HostFacts gather(ObservationRequest interest) throws UnreachableException, InterruptedException {
        seen = null;
        var start = nanos.getAsLong();
        var omitted = memory.omitted();
        var reply = command.run(connection, common -> request(common, interest, omitted));
        try {
            var answer = observed(reply);
            memory.record(answer, omitted);
            seen = RemoteActions.LastObservation.of(answer.facts(), start);
            return answer.facts();
        } catch (UnreadableAnswerException e) {
            connection.stop();
            throw e.unreachable();
        }
    }

    private Request request(Request.Common common, ObservationRequest interest, HostMemory.Omitted omitted) {
        return new Request.Observe(
                common,
                config.acts(),
                new Request.Gpu(
                        config.nvidiaSmi(),
                        config.gpuTimeout(),
                        List.of(GpuQuery.FORMAT),
                        GpuQuery.PROCESSES,
                        GpuQuery.DEVICES,
                        config.readsStatus() ? GpuQuery.STATUS : "",
                        omitted.tool(),
                        omitted.status()),
                omitted.kernels(),
                pids(omitted.processes()),
                pids(interest.verified()),
                identities(interest.settled()),
                identities(interest.attributed()),
                interest.first(),
                interest.deviceHolders(),
                List.copyOf(interest.reusedPids()),
                ranges(interest.subordinateUids()),
                omitted.passwd(),
                omitted.subuid(),
                config.programs());
    }

    private static List<List<Long>> identities(Collection<ProcessId> processes) {
        return processes.stream()
                .map(id -> List.of((long) id.pid(), id.startTime()))
                .toList();
    }

    private static List<List<Long>> ranges(SubordinateUids uids) {
        return uids.ranges().stream()
                .map(range -> List.of(range.first(), range.count(), range.owner()))
                .toList();
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
            case Answer.Observed observed
            when observed.facts().programs().size() == config.programs().size() -> observed;
            case Answer.Observed _ -> throw new UnreadableAnswerException("not all protected programs are in it");
            case Answer.Failed(var why) -> throw AgentFailure.of(why);
            case Answer.Acted _ -> throw new UnreadableAnswerException("it is the answer to another request");
        };
    }

    @Override
    public void execute(List<Instruction> orders, BiConsumer<Instruction, InstructionResult> done)
            throws UnreachableException, InterruptedException {
        var known = seen;
        if (known == null) {
            orders.forEach(order -> done.accept(order, NOT_OBSERVED));
            return;
        }
        var passed = Duration.ofNanos(nanos.getAsLong() - known.nanos());
        var deadline = known.ticks() + passed.plus(config.timeout()).toMillis() / MILLIS_PER_TICK;
        var now = new RemoteActions(known, deadline, orders, done).run(command, connection);
        // A signal can reach a process that takes over the pid at this moment.
        if (now == Answer.Handles.COMPARISON && now != handles) {
            LOG.infof(
                    "[%s] This machine has no process descriptors (pidfd): a process is compared directly before its"
                            + " signal",
                    name);
        }
        handles = now == null ? handles : now;
    }

    /**
     * The settings of an agent, the same for all machines.
     *
     * @param stateDirectory genv's state directory on the machines
     * @param lockTimeout the time limit for taking genv's lock
     * @param nvidiaSmi a path, or a name that is searched in the standard directories
     * @param gpuTimeout the time limit of nvidia-smi
     * @param readsStatus whether to read the temperature, the utilization and the memory of the GPUs
     * @param timeout the time limit of a command
     * @param sudo whether commands are run through {@code sudo -n}
     * @param programs the paths of the protected programs
     * @param acts whether any action is executed
     * @param lease how long no other service acts on a machine after this service observed it or acted on it; zero for no such time
     */
    public record AgentConfig(
            String stateDirectory,
            Duration lockTimeout,
            String nvidiaSmi,
            Duration gpuTimeout,
            boolean readsStatus,
            Duration timeout,
            boolean sudo,
            List<String> programs,
            boolean acts,
            Duration lease) {

        public AgentConfig {
            programs = List.copyOf(programs);
        }
    }
}
