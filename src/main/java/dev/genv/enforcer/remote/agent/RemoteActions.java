package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.Connection;
import java.util.ArrayList;
import java.util.List;
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

    private final LastObservation seen;
    private final long deadline;
    private final BiConsumer<Instruction, InstructionResult> done;
    /** The open ones, by their numbers. */
    private final TreeMap<Integer, Termination> terminations = new TreeMap<>();

    private int detachmentNumber;
    private @Nullable Detachment detachment;
    private Answer.@Nullable Handles handles;

    /**
     * Creates a list without orders.
     *
     * @param deadline in clock ticks since the machine's boot; later no order is begun
     * @param done called once with the reply to each order
     */
    RemoteActions(LastObservation seen, long deadline, BiConsumer<Instruction, InstructionResult> done) {
        this.seen = seen;
        this.deadline = deadline;
        this.done = done;
    }

    /**
     * Executes orders. What changed too often between the observation and the execution is tried again.
     *
     * @return what signals were sent to; null if there was no answer
     * @throws UnreachableException if the machine could not be reached; an order without a reply was not executed then
     */
    Answer.@Nullable Handles run(List<Instruction> orders, AgentCommand command, Connection machine)
            throws UnreachableException, InterruptedException {
        prepare(orders);
        for (var round = 0; isOpen() && round < MAX_ROUNDS; round++) {
            try {
                record(send(command, machine));
            } catch (UnreadableAnswerException e) {
                // Whatever the answer was, the request was received.
                finishAll(Result.lost(String.valueOf(e.unreachable().getMessage())));
                machine.stop();
            }
        }
        List.copyOf(terminations.keySet()).forEach(number -> finish(number, Termination.OTHER));
        if (detachment != null) {
            detachment.giveUp();
        }
        return handles;
    }

    private boolean isOpen() {
        return !terminations.isEmpty() || openDetachment() != null;
    }

    private @Nullable Detachment openDetachment() {
        return detachment != null && detachment.isOpen() ? detachment : null;
    }

    private void prepare(List<Instruction> orders) {
        var detachments = new ArrayList<Instruction.Detach>();
        for (var order : orders) {
            switch (order) {
                case Instruction.Terminate terminate -> prepare(terminate);
                case Instruction.Detach detach -> detachments.add(detach);
            }
        }
        detachmentNumber = orders.size();
        if (!detachments.isEmpty()) {
            detachment = new Detachment(detachments, seen.devices(), done);
        }
    }

    private void prepare(Instruction.Terminate order) {
        var termination = Termination.of(order);
        if (order.process().pid() <= 1) {
            done.accept(order, new InstructionResult.Finished(NEVER_TERMINATED));
        } else if (termination.isEmpty()) {
            done.accept(order, new InstructionResult.Finished(NOT_FOUND));
        } else {
            terminations.put(terminations.size(), termination.get());
        }
    }

    private AgentCommand.Reply send(AgentCommand command, Connection machine)
            throws UnreachableException, InterruptedException {
        try {
            return command.run(machine, this::request);
        } catch (InterruptedException e) {
            finishAll(Result.lost(ABANDONED));
            throw e;
        }
    }

    private Request request(Request.Common common) {
        var pending = openDetachment();
        return new Request.Act(
                common,
                deadline,
                seen.boot(),
                terminations.entrySet().stream()
                        .map(each -> each.getValue().request(each.getKey()))
                        .toList(),
                pending == null ? null : pending.request(detachmentNumber));
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
            finishAll(Result.failed(
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
        var pending = openDetachment();
        var detached = acted.detached();
        if (pending != null && detached != null) {
            pending.record(detached, acted.lock(), begun.contains(detachmentNumber));
        } else if (pending != null) {
            pending.finish(new InstructionResult.Finished(NO_RESULT));
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
            var notStarted = Result.failed(why + "; it was not started");
            List.copyOf(terminations.keySet()).stream()
                    .filter(number -> !begun.contains(number))
                    .forEach(number -> finish(number, notStarted));
            if (detachment != null && !begun.contains(detachmentNumber)) {
                detachment.finish(new InstructionResult.Finished(notStarted));
            }
        }
        finishAll(Result.lost(why));
    }

    private void finishAll(Result result) {
        List.copyOf(terminations.keySet()).forEach(number -> finish(number, result));
        if (detachment != null) {
            detachment.finish(new InstructionResult.Finished(result));
        }
    }

    private void finish(int number, Result result) {
        var termination = terminations.remove(number);
        if (termination != null) {
            done.accept(termination.order(), new InstructionResult.Finished(result));
        }
    }
}
