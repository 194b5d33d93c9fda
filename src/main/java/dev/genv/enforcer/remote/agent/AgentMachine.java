package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.enforcement.host.Machine.SignalResult.Kind;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentFailure;
import dev.genv.enforcer.remote.agent.AgentOutput.UnreadableAnswerException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntPredicate;
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
    private List<List<Long>> subordinates = List.of();
    private boolean hasHandles = true;

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
    public HostFacts observe(ObservationRequest interest) throws UnreachableException, InterruptedException {
        var start = nanos.getAsLong();
        subordinates = ranges(interest.subordinateUids());
        var omitted = memory.omitted();
        var reply = command.run(connection, common -> request(common, interest, omitted));
        try {
            var answer = answer(reply, Answer.Observed.class);
            requireAllPrograms(answer.facts().programs());
            memory.record(answer, omitted);
            var machine = answer.facts().machine();
            seen = new LastObservation(machine.beforeState(), machine.bootId(), start);
            validity = null;
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
                        interest.deviceStatus() ? GpuQuery.STATUS : "",
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
                subordinates,
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

    private void requireAllPrograms(List<Reading<ProgramFile>> programs) throws UnreadableAnswerException {
        if (programs.size() != config.programs().size()) {
            throw new UnreadableAnswerException("not all protected programs are in it");
        }
    }

    private static <A extends Answer> A answer(AgentCommand.Reply reply, Class<A> type)
            throws UnreadableAnswerException, UnreachableException {
        var json = reply.output().json();
        if (json == null) {
            throw reply.failure();
        }
        var answer = AgentJson.read(json, Answer.class);
        if (answer instanceof Answer.Failed(var why)) {
            throw AgentFailure.of(why);
        }
        if (!type.isInstance(answer)) {
            throw new UnreadableAnswerException("it is the answer to another request");
        }
        return type.cast(answer);
    }

    @Override
    public Examination examine(List<ProcessId> processes) throws UnreachableException, InterruptedException {
        var pids = pids(processes);
        var reply =
                command.run(connection, common -> new Request.Examine(common, pids, subordinates, config.programs()));
        try {
            var answer = answer(reply, Answer.ToExamination.class);
            requireAllPrograms(answer.programs());
            if (!answer.processes().stream()
                    .map(each -> each.facts().pid())
                    .toList()
                    .equals(pids)) {
                throw new UnreadableAnswerException("it is about other processes");
            }
            if (hasHandles && !answer.hasHandles()) { // a signal can reach a process that takes over the pid just then
                LOG.infof(
                        "[%s] This machine has no process descriptors (pidfd): a process is compared directly before"
                                + " its signal",
                        name);
            }
            hasHandles = answer.hasHandles();
            return new Examination(answer.programs(), answer.processes());
        } catch (UnreadableAnswerException e) {
            connection.stop();
            throw e.unreachable();
        }
    }

    @Override
    public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done)
            throws UnreachableException, InterruptedException {
        var requests = signals.stream().map(AgentMachine::request).toList();
        var open = signals.stream()
                .collect(Collectors.toMap(
                        signal -> signal.process().pid(), Function.identity(), (one, _) -> one, LinkedHashMap::new));
        try {
            var answer = act(
                    Answer.ToSignals.class, common -> new Request.Signal(common, validity(), subordinates, requests));
            var leased = answer.leased();
            for (var each : answer.signals()) {
                var signal = open.remove(each.pid());
                if (signal == null) {
                    connection.stop();
                    throw LostAnswer.of(new UnreadableAnswerException("it reports an unknown action"));
                }
                done.accept(signal, each.result());
            }
            open.values()
                    .forEach(signal -> done.accept(
                            signal,
                            leased == null
                                    ? new SignalResult(Kind.PERHAPS, "the host reported no result")
                                    : new SignalResult(Kind.NOT_SENT, leased.reason())));
        } catch (LostAnswer e) {
            open.forEach((pid, signal) -> done.accept(
                    signal,
                    e.mayHaveBegun.test(pid)
                            ? new SignalResult(Kind.PERHAPS, e.why)
                            : new SignalResult(Kind.NOT_SENT, e.why + NOT_STARTED)));
        } catch (InterruptedException e) {
            open.values().forEach(signal -> done.accept(signal, new SignalResult(Kind.PERHAPS, ABANDONED)));
            throw e;
        }
    }

    private static Request.OneSignal request(SignalRequest signal) {
        return new Request.OneSignal(
                signal.process().pid(), signal.process().startTime(), signal.kill() ? "KILL" : "TERM", signal.digest());
    }

    @Override
    public SwapResult swapDevices(String digest, byte[] content) throws UnreachableException, InterruptedException {
        try {
            var answer = act(
                    Answer.ToSwap.class,
                    common -> new Request.SwapDevices(common, validity(), digest, Bytes.of(content)));
            var leased = answer.leased();
            return leased == null
                    ? Objects.requireNonNullElse(answer.swap(), new SwapResult.Perhaps("the host reported no result"))
                    : new SwapResult.NotWritten(leased.reason());
        } catch (LostAnswer e) {
            return e.mayHaveBegun.test(SWAP)
                    ? new SwapResult.Perhaps(e.why)
                    : new SwapResult.NotWritten(e.why + NOT_STARTED);
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
     * Sends a request that acts.
     *
     * @throws UnreachableException if it cannot have reached the machine
     * @throws LostAnswer if it may have, and there is no answer
     */
    private <A extends Answer> A act(Class<A> type, Function<Request.Common, Request> request)
            throws UnreachableException, LostAnswer, InterruptedException {
        var reply = command.run(connection, request);
        try {
            var output = reply.output();
            try {
                return answer(reply, type);
            } catch (UnreachableException e) {
                if (reply.result().interruption() == null && output.begun().isEmpty()) {
                    throw e; // for want of sudo or of Python, for example
                }
                // An agent announces each action before it begins; one that has ended began no other.
                var hasEnded = reply.result().hasEnded();
                throw new LostAnswer(
                        String.valueOf(e.getMessage()),
                        each -> !hasEnded || output.begun().contains(each));
            }
        } catch (UnreadableAnswerException e) {
            connection.stop();
            throw LostAnswer.of(e); // whatever the answer was, the request was received
        }
    }

    /** There is no answer to a request that acts. */
    private static final class LostAnswer extends Exception {
        private static final long serialVersionUID = 1L;

        private final String why;
        /** By the pid of the process, or {@link #SWAP}. */
        private final transient IntPredicate mayHaveBegun;

        LostAnswer(String why, IntPredicate mayHaveBegun) {
            this.why = why;
            this.mayHaveBegun = mayHaveBegun;
        }

        static LostAnswer of(UnreadableAnswerException e) {
            return new LostAnswer(String.valueOf(e.unreachable().getMessage()), _ -> true);
        }
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
