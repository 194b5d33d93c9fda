package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SignalCheck;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentFailure;
import dev.genv.enforcer.remote.agent.AgentOutput.UnreadableAnswerException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The orders for a machine, until each one has a reply. */
final class RemoteActions {
    static final String ABANDONED = "abandoned: the execution took too long";
    private static final int MAX_ROUNDS = 5;
    private static final Result NEVER_TERMINATED =
            new Result(Outcome.SKIPPED_PROTECTED, "this process must not be terminated");
    private static final Result NOT_FOUND = Result.failed("the last observation of this host did not find it");
    private static final Result NO_RESULT = Result.lost("the host reported no result");

    /**
     * What actions need from the observation that they are based on.
     *
     * @param devices {@code devices.json}; null if it was not read
     * @param ticks when the state was read, in clock ticks since that boot
     * @param boot the boot id
     * @param nanos when the observation began, as {@link System#nanoTime} of the service
     */
    record LastObservation(@Nullable Bytes devices, long ticks, String boot, long nanos) {
        static LastObservation of(HostFacts facts, long nanos) {
            return new LastObservation(
                    facts.state().devices() instanceof StateFile.Present(var content) ? content : null,
                    facts.machine().beforeState(),
                    facts.machine().bootId(),
                    nanos);
        }
    }

    private final LastObservation seen;
    private final long deadline;
    private final BiConsumer<Instruction, InstructionResult> done;
    /** The open ones, by their numbers. */
    private final TreeMap<Integer, Termination> terminations = new TreeMap<>();

    private final int detachmentNumber;
    private final Detachment detachment;
    private Answer.@Nullable Handles handles;

    /**
     * Prepares the orders. Those that cannot be executed are done at once.
     *
     * @param deadline in clock ticks since the machine's boot; later no order is begun
     * @param done called once with the reply to each order
     */
    RemoteActions(
            LastObservation seen,
            long deadline,
            List<Instruction> orders,
            BiConsumer<Instruction, InstructionResult> done) {
        this.seen = seen;
        this.deadline = deadline;
        this.done = done;
        var detachments = new ArrayList<Instruction.Detach>();
        for (var order : orders) {
            switch (order) {
                case Instruction.Terminate terminate -> prepare(terminate);
                case Instruction.Detach detach -> detachments.add(detach);
            }
        }
        detachmentNumber = orders.size();
        detachment = new Detachment(detachments, seen.devices(), done);
    }

    /**
     * Executes the orders. What changed too often between the observation and the execution is tried again.
     *
     * @return what signals were sent to; null if there was no answer
     * @throws UnreachableException if the machine could not be reached; an order without a reply was not executed then
     */
    Answer.@Nullable Handles run(AgentCommand command, Connection machine)
            throws UnreachableException, InterruptedException {
        for (var round = 0; round < MAX_ROUNDS && (!terminations.isEmpty() || detachment.isOpen()); round++) {
            try {
                record(send(command, machine));
            } catch (UnreadableAnswerException e) {
                // Whatever the answer was, the request was received.
                finishAllExcept(
                        Set.of(), Result.lost(String.valueOf(e.unreachable().getMessage())));
                machine.stop();
            }
        }
        List.copyOf(terminations.keySet()).forEach(number -> finish(number, Termination.OTHER));
        detachment.finish(Detachment.REPEATED_CHANGES);
        return handles;
    }

    private void prepare(Instruction.Terminate order) {
        var environ = order.expected().environ();
        if (order.process().pid() <= 1) {
            done.accept(order, new InstructionResult.Finished(NEVER_TERMINATED));
        } else if (environ == null || order.expected().uid() == null) { // the machine must compare them
            done.accept(order, new InstructionResult.Finished(NOT_FOUND));
        } else {
            terminations.put(terminations.size(), new Termination(order, environ));
        }
    }

    private AgentCommand.Reply send(AgentCommand command, Connection machine)
            throws UnreachableException, InterruptedException {
        try {
            return command.run(machine, this::request);
        } catch (InterruptedException e) {
            finishAllExcept(Set.of(), Result.lost(ABANDONED));
            throw e;
        }
    }

    private Request request(Request.Common common) {
        return new Request.Act(
                common,
                deadline,
                seen.boot(),
                terminations.entrySet().stream()
                        .map(each -> each.getValue().request(each.getKey()))
                        .toList(),
                detachment.isOpen() ? detachment.request(detachmentNumber) : null);
    }

    private void record(AgentCommand.Reply reply) throws UnreachableException, UnreadableAnswerException {
        var output = reply.output();
        if (output.json() == null) {
            recordMissing(reply.failure(), output.begun(), reply.result());
            return;
        }
        switch (AgentJson.read(output.json(), Answer.class)) {
            case Answer.Acted acted -> record(acted, output.begun());
            case Answer.Failed(var why) -> recordMissing(AgentFailure.of(why), output.begun(), reply.result());
            case Answer.Observed _ -> throw new UnreadableAnswerException("it is the answer to another request");
        }
    }

    private void record(Answer.Acted acted, Set<Integer> begun) throws UnreadableAnswerException {
        handles = acted.handles();
        var leased = acted.leased();
        if (leased != null) {
            finishAllExcept(
                    Set.of(),
                    Result.failed(
                            "another service acted on this host %d s ago: observing only until its lease expires, in %d s"
                                    .formatted(leased.secondsAgo(), leased.secondsLeft())));
            return;
        }
        var unanswered = new TreeMap<>(terminations);
        for (var answer : acted.results()) {
            var termination = unanswered.remove(answer.number());
            if (termination == null) {
                throw new UnreadableAnswerException("it reports an unknown action");
            }
            termination.result(answer).ifPresent(result -> finish(answer.number(), result));
        }
        unanswered.keySet().forEach(number -> finish(number, NO_RESULT));
        var detached = acted.detached();
        if (detached == null) {
            detachment.finish(new InstructionResult.Finished(NO_RESULT));
        } else if (detachment.isOpen()) {
            detachment.record(detached, acted.lock(), begun.contains(detachmentNumber));
        }
    }

    /** An agent announces each action before it begins. */
    private void recordMissing(UnreachableException failure, Set<Integer> begun, CommandResult result)
            throws UnreachableException {
        if (result.interruption() == null && begun.isEmpty()) {
            throw failure; // for want of sudo or of Python, for example
        }
        var why = String.valueOf(failure.getMessage());
        if (result.hasEnded()) {
            finishAllExcept(begun, Result.failed(why + "; it was not started"));
        }
        finishAllExcept(Set.of(), Result.lost(why));
    }

    private void finishAllExcept(Set<Integer> numbers, Result result) {
        List.copyOf(terminations.keySet()).stream()
                .filter(number -> !numbers.contains(number))
                .forEach(number -> finish(number, result));
        if (!numbers.contains(detachmentNumber)) {
            detachment.finish(new InstructionResult.Finished(result));
        }
    }

    private void finish(int number, Result result) {
        var termination = terminations.remove(number);
        if (termination != null) {
            done.accept(termination.order(), new InstructionResult.Finished(result));
        }
    }

    /** A process to terminate on a machine if its identity has not changed. */
    private static final class Termination {
        static final Result OTHER = Result.failed("its identity has changed since the rules were checked");

        private static final Result WITHOUT_DEVICE = Result.failed(
                "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");
        private static final Result UNEXAMINED =
                Result.failed("it is listed, but its open files cannot be examined, so it is not terminated");

        private final Instruction.Terminate order;
        /** What its environ must name. */
        private EnvironFacts environ;

        /** Where its environ must be. */
        private Addresses addresses;

        /** Its real uid; null for any but an exempt one, because it changed too often. */
        private @Nullable Long uid;

        private Collection<ProgramFile> files;

        Termination(Instruction.Terminate order, EnvironFacts environ) {
            this.order = order;
            this.environ = environ;
            addresses = order.expected().addresses();
            uid = order.expected().uid();
            files = order.expected().files();
        }

        Instruction.Terminate order() {
            return order;
        }

        Request.Terminate request(int number) {
            return new Request.Terminate(
                    number,
                    order.process().pid(),
                    order.process().startTime(),
                    uid,
                    order.expected().exempt().stream().sorted().toList(),
                    order.kill() ? "KILL" : "TERM",
                    List.copyOf(files),
                    environ.id(),
                    environ.digest(),
                    numbers(addresses));
        }

        /** Returns the result; empty if it must be tried again, because its identity changed too often before. */
        Optional<Result> result(Answer.Terminated answer) {
            return switch (answer.result()) {
                case SIGNALLED -> Optional.of(Result.of(Outcome.SIGNALLED));
                case GONE -> Optional.of(Result.of(Outcome.ALREADY_GONE));
                case DENIED -> Optional.of(new Result(Outcome.DENIED, "needs the capability CAP_KILL"));
                case PROTECTED -> Optional.of(new Result(Outcome.SKIPPED_PROTECTED, "it runs a protected program"));
                case TIMEOUT -> Optional.of(Result.failed("its environ does not answer"));
                case LATE -> Optional.of(Result.failed(ABANDONED));
                case UNREADABLE -> Optional.of(OTHER);
                case WITHOUT_DEVICE -> Optional.of(WITHOUT_DEVICE);
                case UNEXAMINED -> Optional.of(UNEXAMINED);
                case OTHER_USER -> ofOtherUser(answer.uid());
                case CHANGED -> changed(answer.environ(), answer.stat());
            };
        }

        /** The next attempt accepts any uid, because a process that changes its uid all the time would never have the expected one. */
        private Optional<Result> ofOtherUser(@Nullable Long now) {
            if (now == null) {
                return Optional.of(OTHER);
            }
            uid = null;
            files = order.check().protectedFiles(now);
            return order.check().refusal(now, null);
        }

        private Optional<Result> changed(@Nullable EnvironFacts now, @Nullable Bytes stat) {
            if (now == null || stat == null) {
                return Optional.of(OTHER);
            }
            environ = now;
            addresses = ProcStat.tryParse(stat.text()).map(ProcStat::addresses).orElse(Addresses.UNKNOWN);
            return order.check().refusal(order.expected().uid(), new SignalCheck.Present(now, stat));
        }

        private static List<Long> numbers(Addresses addresses) {
            return addresses.areKnown()
                    ? List.of(
                            addresses.argumentsBegin(),
                            addresses.argumentsEnd(),
                            addresses.environmentBegin(),
                            addresses.environmentEnd())
                    : List.of();
        }
    }
}
