package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** What is to be done on a host, until something has come of each. */
final class RemoteActions implements Shell.Message {
    private static final Script ACT =
            new Script(List.of("common.sh", "lock.sh", "lease.sh", "memory.sh", "state.sh", "act.sh"));
    private static final int MOST_ROUNDS = 5;
    /** Of what breaks an answer off, what shows that the shell is there no longer. */
    private static final Set<ProblemCode> ENDED = Set.of(ProblemCode.AGENT_KILLED, ProblemCode.NO_EXIT_CODE);

    private final ObservedMachine seen;
    private final String service;
    private final long deadline;
    private final IdentityFlapping evasion;
    private final BiConsumer<Action, Result> done;
    private final Map<Integer, Termination> terminations = new TreeMap<>();
    private final Set<Action> open = new LinkedHashSet<>();
    private @Nullable Detachment detachment;

    /**
     * Prepares it.
     *
     * @param service tells this service from others that act on the same hosts
     * @param deadline in clock ticks since the host's boot: later nothing is begun
     * @param done told of each result once
     */
    RemoteActions(
            ObservedMachine seen,
            String service,
            long deadline,
            IdentityFlapping evasion,
            BiConsumer<Action, Result> done) {
        this.seen = seen;
        this.service = service;
        this.deadline = deadline;
        this.evasion = evasion;
        this.done = done;
    }

    /**
     * Does it.
     *
     * @throws UnreachableException where the host could not be told; what was not reported was not done then
     */
    void run(List<Action> actions, Shell shell, CommandRunner host) throws UnreachableException, InterruptedException {
        prepare(actions);
        for (var round = 0; !open.isEmpty() && round < MOST_ROUNDS; round++) {
            record(send(shell, host));
        }
        terminations.values().stream()
                .map(Termination::action)
                .filter(open::contains)
                .toList()
                .forEach(action -> report(action, Termination.OTHER));
        if (detachment != null) {
            detachment.restless().forEach(this::report);
        }
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
        var refused = Termination.refused(action, seen);
        if (refused.isPresent()) {
            report(action, refused.get());
        } else {
            var records =
                    Objects.requireNonNull(seen.records().get(action.process().id()));
            terminations.put(terminations.size(), new Termination(action, seen.protection(), records));
        }
    }

    private void prepare(Detachment made) {
        var results = made.prepared();
        results.ifPresent(all -> all.forEach(this::report));
        detachment = results.isPresent() ? null : made;
    }

    private Shell.AgentReply send(Shell shell, CommandRunner host) throws UnreachableException, InterruptedException {
        try {
            return shell.run(host, this);
        } catch (InterruptedException e) {
            giveUp("abandoned: the execution took too long");
            throw e;
        }
    }

    private void record(Shell.AgentReply said) throws UnreachableException {
        Frames frames;
        var unanswered = new TreeMap<>(terminations);
        try {
            frames = said.frames();
            Lease.refusal(frames).map(Result::failed).ifPresent(this::giveUp);
            for (var frame : frames.every("result")) {
                record(frame, said.nonce());
                unanswered.remove((int) frame.number(0));
            }
            if (detachment != null && frames.find("detached").isPresent()) {
                record(detachment, frames, said.nonce());
            }
        } catch (UnreachableException e) {
            giveUp(String.valueOf(e.getMessage())); // whatever it was, it was told
            return;
        }
        if (frames.complete() && frames.every("lacks").isEmpty()) {
            unanswered.values().forEach(each -> report(each.action(), Result.lost("the host reported no result")));
            return;
        }
        if (frames.hasNone("me") && said.answer().interruption() == null) {
            throw said.failure(); // it ended before it began, for want of sudo, say
        }
        giveUp(String.valueOf(said.failure().getMessage()), frames, said.answer());
    }

    private void record(Frame frame, String nonce) throws UnreachableException {
        var termination = terminations.get((int) frame.number(0));
        if (termination == null) {
            throw Frame.unreadable("it reports an unknown action");
        }
        var result = termination.result(frame, nonce, evasion);
        if (result != null) {
            report(termination.action(), result);
        }
    }

    private void record(Detachment pending, Frames frames, String nonce) throws UnreachableException {
        var results = pending.results(frames, nonce);
        if (results.isPresent()) {
            detachment = null;
            results.get().forEach(this::report);
        } else {
            prepare(pending);
        }
    }

    private void giveUp(String why, Frames frames, CommandResult answer) throws UnreachableException {
        if (hasEnded(answer)) {
            var begun = new HashSet<String>();
            for (var frame : frames.every("begun")) {
                begun.add(frame.at(0));
            }
            var result = Result.failed(why + "; it was not started");
            terminations.forEach((number, termination) -> {
                if (!begun.contains(Integer.toString(number))) {
                    report(termination.action(), result);
                }
            });
            if (!begun.contains("detach")) {
                List.copyOf(open).stream()
                        .filter(Action.Detach.class::isInstance)
                        .forEach(action -> report(action, result));
            }
        }
        giveUp(why);
    }

    /** Whether nothing can have been begun there that was not told. While a host cannot be heard, it may go on. */
    private static boolean hasEnded(CommandResult answer) {
        var broken = answer.interruption();
        return broken == null || ENDED.contains(broken.code());
    }

    private void giveUp(String why) {
        giveUp(Result.lost(why));
    }

    private void giveUp(Result result) {
        List.copyOf(open).forEach(action -> report(action, result));
        detachment = null;
    }

    private void report(Action action, Result result) {
        if (open.remove(action)) {
            done.accept(action, result);
        }
    }

    @Override
    public Script script() {
        return ACT;
    }

    @Override
    public String function() {
        return "act";
    }

    @Override
    public Map<String, String> values() {
        return Map.of("LEASE", service, "DEADLINE", Long.toString(deadline), "BOOT_ID", seen.boot());
    }

    @Override
    public List<List<String>> calls(String nonce) {
        var calls = new ArrayList<List<String>>();
        terminations.forEach((number, termination) -> {
            if (open.contains(termination.action())) {
                calls.add(termination.call(number, nonce));
            }
        });
        if (detachment != null) {
            calls.add(detachment.call());
        }
        return calls;
    }
}
