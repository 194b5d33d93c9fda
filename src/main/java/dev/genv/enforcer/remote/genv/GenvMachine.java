package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.machine.Machine;
import dev.genv.enforcer.enforcement.machine.Machine.Instruction;
import dev.genv.enforcer.enforcement.machine.Machine.InstructionResult;
import dev.genv.enforcer.enforcement.machine.Machine.ObservationRequest;
import dev.genv.enforcer.facts.host.GenvFacts;
import dev.genv.enforcer.format.DevicesFile.AttachmentId;
import dev.genv.enforcer.format.GenvSnapshot;
import dev.genv.enforcer.format.GenvWarnings;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A machine that is observed and acted on through genv itself, with the protocol of {@code genv remote enforce} (genv 1.4.3). */
public final class GenvMachine implements Machine {
    private final CommandRunner connection;
    private final GenvCommand command;

    /** Creates the machine without connecting. */
    public GenvMachine(CommandRunner connection, AgentConfig config) {
        this.connection = connection;
        command = new GenvCommand(config);
    }

    @Override
    public GenvFacts gather(ObservationRequest interest) throws UnreachableException, InterruptedException {
        var answer = run(command.snapshot());
        return new GenvFacts(answer.output(), answer.errors());
    }

    @Override
    public void execute(List<Instruction> orders, BiConsumer<Instruction, InstructionResult> done)
            throws UnreachableException, InterruptedException {
        var report = new GenvReport(snapshot(), orders);
        var sent = new ArrayList<Instruction>();
        for (var order : orders) {
            report.add(order)
                    .ifPresentOrElse(
                            refusal -> done.accept(order, new InstructionResult.Finished(refusal)),
                            () -> sent.add(order));
        }
        if (sent.isEmpty()) {
            return;
        }
        var answer = execute(report, sent, done);
        var failure = GenvFailure.of(answer);
        if (failure.isPresent()) {
            if (!failure.get().begun()) {
                throw failure.get().asException();
            }
            finish(sent, Result.lost(failure.get().detail()), done);
            return;
        }
        finish(sent, GenvWarnings.parse(answer.errors()), done);
    }

    private CommandResult execute(
            GenvReport report, List<Instruction> sent, BiConsumer<Instruction, InstructionResult> done)
            throws UnreachableException, InterruptedException {
        try {
            return connection.run(command.execute(report.line()));
        } catch (InterruptedException e) {
            finish(sent, Result.lost("abandoned: the execution took too long"), done);
            throw e;
        }
    }

    private static void finish(
            List<Instruction> orders, Result result, BiConsumer<Instruction, InstructionResult> done) {
        orders.forEach(order -> done.accept(order, new InstructionResult.Finished(result)));
    }

    /** Reports terminations first: their results are known, also if the connection is lost now. */
    private void finish(List<Instruction> sent, GenvWarnings warnings, BiConsumer<Instruction, InstructionResult> done)
            throws InterruptedException {
        var detachments = new ArrayList<Instruction.Detach>();
        for (var order : sent) {
            switch (order) {
                case Instruction.Terminate terminate ->
                    done.accept(
                            order,
                            new InstructionResult.Finished(
                                    terminated(terminate.process().pid(), warnings)));
                case Instruction.Detach detach -> detachments.add(detach);
            }
        }
        if (!detachments.isEmpty()) {
            verify(detachments, done);
        }
    }

    private static Result terminated(int pid, GenvWarnings warnings) {
        if (warnings.notTerminated().contains(pid)) {
            return new Result(Outcome.DENIED, "genv needs root to terminate it");
        }
        return Result.of(warnings.gone().contains(pid) ? Outcome.ALREADY_GONE : Outcome.SIGNALLED);
    }

    /** Checks detachments by another observation, because genv reports none; by the exit code if that observation fails. */
    private void verify(List<Instruction.Detach> detachments, BiConsumer<Instruction, InstructionResult> done)
            throws InterruptedException {
        @Nullable GenvSnapshot after = null;
        try {
            after = snapshot();
        } catch (UnreachableException _) {
            // The next cycle's observation reports the reason; genv writes the file before it exits with 0.
        } finally {
            for (var detach : detachments) {
                done.accept(detach, new InstructionResult.Finished(detached(detach.attachment(), after)));
            }
        }
    }

    private static Result detached(AttachmentId attachment, @Nullable GenvSnapshot after) {
        if (after == null) {
            return new Result(Outcome.DETACHED, "according to genv; the host could not be observed again");
        }
        return after.attachments(attachment.eid(), attachment.device()).stream()
                        .anyMatch(now -> Objects.equals(now.time(), attachment.time()))
                ? Result.failed("genv reports success, but it is still attached")
                : Result.of(Outcome.DETACHED);
    }

    private GenvSnapshot snapshot() throws UnreachableException, InterruptedException {
        var answer = run(command.snapshot());
        try {
            return GenvSnapshot.parse(answer.output(), answer.errors());
        } catch (UnreadableException e) {
            throw new UnreachableException(ProblemCode.ANSWER_UNREADABLE, "genv's answer " + e.getMessage(), e);
        }
    }

    private CommandResult run(CommandRequest request) throws UnreachableException, InterruptedException {
        var answer = connection.run(request);
        var failure = GenvFailure.of(answer);
        if (failure.isPresent()) {
            throw failure.get().asException();
        }
        return answer;
    }
}
