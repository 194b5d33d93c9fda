package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** A machine to which a Python program is sent for each connection, so that nothing is installed there. */
public final class AgentMachine implements Machine {
    private static final Logger LOG = Logger.getLogger(AgentMachine.class);
    private static final long MILLIS_PER_TICK = 10;
    private static final String ABANDONED = "abandoned: the execution took too long";
    private static final String NOT_STARTED = "; it was not started";
    /** Stands for the replacement of devices.json among the pids of signals that were begun. */
    private static final int SWAP = 0;

    private final String name;
    private final Connection connection;
    private final AgentConfig config;
    private final AgentCommand command;
    private final LongSupplier nanos;
    private final HostMemory memory;
    private @Nullable LastObservation seen;
    private Request.@Nullable Validity validity;
    private SubordinateUids subordinates = SubordinateUids.NONE;
    private boolean hasPidfd = true;

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
    public HostFacts observe(ObservationRequest asked) throws UnreachableException, InterruptedException {
        var start = nanos.getAsLong();
        subordinates = asked.subordinateUids();
        var omitted = memory.omitted();
        var gpu = new Request.Gpu(
                config.nvidiaSmi(),
                config.gpuTimeout(),
                List.of(GpuQuery.PROCESSES, GpuQuery.FORMAT),
                List.of(GpuQuery.DEVICES, GpuQuery.FORMAT),
                List.of(GpuQuery.STATUS, GpuQuery.FORMAT));
        var answer = command.ask(
                connection,
                Answer.Observed.class,
                common -> new Request.Observe(common, asked, config.acts(), gpu, omitted, config.programs()));
        var facts = answer.facts();
        if (facts.programs().size() != config.programs().size()) {
            throw refused("not all protected programs are in it");
        }
        memory.remember(answer, omitted);
        seen = new LastObservation(
                facts.machine().beforeState(), facts.machine().bootId(), start);
        validity = null;
        return facts;
    }

    /** Ends the agent: its next answer may be invalid for the same reason. */
    private LostAnswerException refused(String why) throws InterruptedException {
        connection.stop();
        return new LostAnswerException(why);
    }

    @Override
    public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done)
            throws UnreachableException, InterruptedException {
        var open = signals.stream()
                .collect(Collectors.toMap(
                        signal -> signal.process().pid(), Function.identity(), (one, _) -> one, LinkedHashMap::new));
        try {
            var answer = command.ask(
                    connection,
                    Answer.ToSignals.class,
                    common -> new Request.Signal(common, validity(), subordinates, signals));
            if (hasPidfd && !answer.hasPidfd()) { // a signal can reach a process that takes over the pid just then
                LOG.infof(
                        "[%s] This machine has no process descriptors (pidfd): a signal is sent to the pid, directly after the"
                                + " start time was compared",
                        name);
            }
            hasPidfd = answer.hasPidfd();
            for (var each : answer.signals()) {
                var signal = open.remove(each.pid());
                if (signal == null) {
                    throw refused("it reports an unknown action");
                }
                done.accept(signal, each.result());
            }
            open.values()
                    .forEach(signal ->
                            done.accept(signal, new SignalResult(Kind.PERHAPS, "the host reported no result")));
        } catch (LostAnswerException e) {
            open.forEach((pid, signal) -> done.accept(
                    signal,
                    e.mayHaveBegun(pid)
                            ? new SignalResult(Kind.PERHAPS, String.valueOf(e.getMessage()))
                            : new SignalResult(Kind.NOT_SENT, e.getMessage() + NOT_STARTED)));
        } catch (InterruptedException e) {
            open.values().forEach(signal -> done.accept(signal, new SignalResult(Kind.PERHAPS, ABANDONED)));
            throw e;
        }
    }

    @Override
    public SwapResult swapDevices(String digest, byte[] content) throws UnreachableException, InterruptedException {
        try {
            return command.ask(
                            connection,
                            Answer.ToSwap.class,
                            common -> new Request.SwapDevices(common, validity(), digest, Bytes.of(content)))
                    .swap();
        } catch (LostAnswerException e) {
            return e.mayHaveBegun(SWAP)
                    ? new SwapResult.Perhaps(String.valueOf(e.getMessage()))
                    : new SwapResult.NotWritten(e.getMessage() + NOT_STARTED);
        }
    }

    /** Returns until when an action may be begun. The first request after an observation decides that: the service waits for all together. */
    private Request.Validity validity() {
        var known = validity;
        if (known == null) {
            var last = Objects.requireNonNull(seen, "only what was observed is acted on");
            var passed = Duration.ofNanos(nanos.getAsLong() - last.nanos());
            known = new Request.Validity(
                    last.ticks() + passed.plus(config.timeout()).toMillis() / MILLIS_PER_TICK, last.boot());
            validity = known;
        }
        return known;
    }

    /**
     * When the machine was observed last.
     *
     * @param ticks when the state was read, in clock ticks since that boot
     * @param boot the boot id
     * @param nanos when the observation began, as {@link System#nanoTime} of the service
     */
    private record LastObservation(long ticks, String boot, long nanos) {}

    /**
     * The settings of an agent, the same for all machines.
     *
     * @param stateDirectory genv's state directory on the machines
     * @param lockTimeout the time limit for taking genv's lock
     * @param nvidiaSmi a path, or a name that is searched in the standard directories
     * @param gpuTimeout the time limit of nvidia-smi
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
