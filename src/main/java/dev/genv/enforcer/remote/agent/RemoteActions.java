package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The actions on a machine, until each one has a result. */
final class RemoteActions {
    private static final int MAX_ROUNDS = 5;
    private static final String ABANDONED = "abandoned: the execution took too long";
    private static final Result NO_RESULT = Result.lost("the host reported no result");
    /** The interruptions after which the agent no longer runs. After others it may continue. */
    private static final Set<ProblemCode> ENDED = Set.of(ProblemCode.AGENT_KILLED, ProblemCode.NO_EXIT_CODE);

    private final LastObservation seen;
    private final long deadline;
    private final IdentityFlapping flapping;
    private final BiConsumer<Action, Result> done;
    private final Map<Integer, Termination> terminations = new LinkedHashMap<>();
    private final Set<Action> open = new LinkedHashSet<>();
    private Answer.@Nullable Handles handles;
    private @Nullable Detachment detachment;

    /**
     * Creates a list without actions.
     *
     * @param deadline in clock ticks since the machine's boot; later no action is begun
     * @param done called with each result once
     */
    RemoteActions(LastObservation seen, long deadline, IdentityFlapping flapping, BiConsumer<Action, Result> done) {
        this.seen = seen;
        this.deadline = deadline;
        this.flapping = flapping;
        this.done = done;
    }

    /**
     * Executes actions. What changed too often between the observation and the action is tried again.
     *
     * @return what signals were sent to; null if there was no answer
     * @throws UnreachableException if the machine could not be reached; an action without a result was not executed then
     */
    Answer.@Nullable Handles run(List<Action> actions, AgentCommand command, CommandRunner machine)
            throws UnreachableException, InterruptedException {
        prepare(actions);
        for (var round = 0; !open.isEmpty() && round < MAX_ROUNDS; round++) {
            record(send(command, machine));
        }
        terminations.values().forEach(termination -> report(termination.action(), Termination.OTHER));
        if (detachment != null) {
            detachment.repeatedlyChanged().forEach(this::report);
        }
        return handles;
    }

    private void prepare(List<Action> actions) {
        open.addAll(actions);
        var detachments = new ArrayList<Action.Detach>();
        for (var action : actions) {
            switch (action) {
                case Action.Terminate terminate -> prepare(terminate);
                case Action.Detach detach -> detachments.add(detach);
            }
        }
        if (!detachments.isEmpty()) {
            prepare(new Detachment(detachments, seen.devices()));
        }
    }

    private void prepare(Action.Terminate action) {
        var refusal = Termination.refusal(action, seen);
        if (refusal.isPresent()) {
            report(action, refusal.get());
        } else {
            var environ =
                    Objects.requireNonNull(seen.environs().get(action.process().id()));
            terminations.put(terminations.size(), new Termination(action, seen.immunity(), environ));
        }
    }

    private void prepare(Detachment made) {
        var results = made.prepare();
        results.ifPresent(all -> all.forEach(this::report));
        detachment = results.isPresent() ? null : made;
    }

    private AgentCommand.Reply send(AgentCommand command, CommandRunner machine)
            throws UnreachableException, InterruptedException {
        try {
            return command.run(machine, this::request);
        } catch (InterruptedException e) {
            reportAll(Result.lost(ABANDONED));
            throw e;
        }
    }

    private Request request(Request.Common common) {
        var open = new ArrayList<Request.Terminate>();
        terminations.forEach((number, termination) -> {
            if (isOpen(termination)) {
                open.add(termination.request(number));
            }
        });
        return new Request.Act(
                common,
                deadline,
                seen.boot(),
                open,
                detachment == null ? null : detachment.request(detachmentNumber()));
    }

    private boolean isOpen(Termination termination) {
        return open.contains(termination.action());
    }

    private int detachmentNumber() {
        return terminations.size();
    }

    private void record(AgentCommand.Reply reply) throws UnreachableException {
        try {
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
        } catch (UnreadableAnswerException e) {
            // Whatever the answer was, the request was received.
            reportAll(Result.lost(String.valueOf(e.unreachable().getMessage())));
        }
    }

    private void record(Answer.Acted acted, Set<Integer> begun) throws UnreadableAnswerException {
        handles = acted.handles();
        var leased = acted.leased();
        if (leased != null) {
            reportAll(Result.failed(
                    "another service acted on this host %d s ago: observing only until its lease expires, in %d s"
                            .formatted(leased.secondsAgo(), leased.secondsLeft())));
            return;
        }
        var unanswered = new LinkedHashMap<>(terminations);
        for (var result : acted.results()) {
            var termination = unanswered.remove(result.number());
            if (termination == null || !isOpen(termination)) {
                throw new UnreadableAnswerException("it reports an unknown action");
            }
            record(termination, result);
        }
        unanswered.values().forEach(each -> report(each.action(), NO_RESULT));
        if (detachment != null) {
            record(detachment, acted, begun.contains(detachmentNumber()));
        }
    }

    private void record(Termination termination, Answer.Terminated answer) {
        var result = termination.result(answer, flapping);
        if (result != null) {
            report(termination.action(), result);
        }
    }

    private void record(Detachment pending, Answer.Acted acted, boolean wasBegun) {
        var answer = acted.detached();
        var results =
                answer == null ? Optional.of(pending.all(NO_RESULT)) : pending.results(answer, acted.lock(), wasBegun);
        if (results.isPresent()) {
            detachment = null;
            results.get().forEach(this::report);
        } else {
            prepare(pending);
        }
    }

    /** An agent announces each action before it begins. */
    private void recordMissing(UnreachableException failure, Set<Integer> begun, CommandResult result)
            throws UnreachableException {
        var hasEnded = hasEnded(result);
        if (hasEnded && begun.isEmpty() && result.interruption() == null) {
            throw failure; // for want of sudo or of Python, for example
        }
        var why = String.valueOf(failure.getMessage());
        if (hasEnded) {
            var notStarted = Result.failed(why + "; it was not started");
            terminations.forEach((number, termination) -> {
                if (!begun.contains(number)) {
                    report(termination.action(), notStarted);
                }
            });
            if (detachment != null && !begun.contains(detachmentNumber())) {
                detachment.all(notStarted).forEach(this::report);
            }
        }
        reportAll(Result.lost(why));
    }

    /** Whether the agent no longer runs, so that nothing was begun that is not in the output. */
    private static boolean hasEnded(CommandResult result) {
        var interruption = result.interruption();
        return interruption == null || ENDED.contains(interruption.code());
    }

    private void reportAll(Result result) {
        List.copyOf(open).forEach(action -> report(action, result));
        detachment = null;
    }

    private void report(Action action, Result result) {
        if (open.remove(action)) {
            done.accept(action, result);
        }
    }
}
