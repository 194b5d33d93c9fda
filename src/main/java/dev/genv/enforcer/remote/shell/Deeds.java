package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.Evasion;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Answer;
import dev.genv.enforcer.remote.Exchange;
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
final class Deeds implements Shell.Message {
    private static final Script ACT =
            new Script(List.of("common.sh", "lock.sh", "lease.sh", "memory.sh", "state.sh", "act.sh"));
    private static final int MOST_ROUNDS = 5;
    /** Of what breaks an answer off, what shows that the shell is there no longer. */
    private static final Set<ProblemCode> ENDED = Set.of(ProblemCode.AGENT_KILLED, ProblemCode.NO_EXIT_CODE);

    private final Seen seen;
    private final String service;
    private final long deadline;
    private final Evasion evasion;
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
    Deeds(Seen seen, String service, long deadline, Evasion evasion, BiConsumer<Action, Result> done) {
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
    void run(List<Action> actions, Shell shell, Exchange host) throws UnreachableException, InterruptedException {
        prepare(actions);
        for (var round = 0; !open.isEmpty() && round < MOST_ROUNDS; round++) {
            hear(say(shell, host));
        }
        terminations.values().stream()
                .map(Termination::action)
                .filter(open::contains)
                .toList()
                .forEach(action -> tell(action, Termination.OTHER));
        if (detachment != null) {
            detachment.restless().forEach(this::tell);
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
            tell(action, refused.get());
        } else {
            var records =
                    Objects.requireNonNull(seen.records().get(action.process().id()));
            terminations.put(terminations.size(), new Termination(action, seen.protection(), records));
        }
    }

    private void prepare(Detachment made) {
        var results = made.prepared();
        results.ifPresent(all -> all.forEach(this::tell));
        detachment = results.isPresent() ? null : made;
    }

    private Shell.Said say(Shell shell, Exchange host) throws UnreachableException, InterruptedException {
        try {
            return shell.say(host, this);
        } catch (InterruptedException e) {
            giveUp("given up: it took too long");
            throw e;
        }
    }

    private void hear(Shell.Said said) throws UnreachableException {
        Frames frames;
        var unanswered = new TreeMap<>(terminations);
        try {
            frames = said.frames();
            Lease.refusal(frames).map(Result::failed).ifPresent(this::giveUp);
            for (var frame : frames.every("result")) {
                hear(frame, said.nonce());
                unanswered.remove((int) frame.number(0));
            }
            if (detachment != null && frames.find("detached").isPresent()) {
                hear(detachment, frames, said.nonce());
            }
        } catch (UnreachableException e) {
            giveUp(String.valueOf(e.getMessage())); // whatever it was, it was told
            return;
        }
        if (frames.complete() && frames.every("lacks").isEmpty()) {
            unanswered.values().forEach(each -> tell(each.action(), Result.lost("the host says nothing of it")));
            return;
        }
        if (frames.hasNone("me") && said.answer().broken() == null) {
            throw said.failure(); // it ended before it began, for want of sudo, say
        }
        giveUp(String.valueOf(said.failure().getMessage()), frames, said.answer());
    }

    private void hear(Frame frame, String nonce) throws UnreachableException {
        var termination = terminations.get((int) frame.number(0));
        if (termination == null) {
            throw Frame.unreadable("it tells of an action that is none");
        }
        var result = termination.result(frame, nonce, evasion);
        if (result != null) {
            tell(termination.action(), result);
        }
    }

    private void hear(Detachment asked, Frames frames, String nonce) throws UnreachableException {
        var results = asked.results(frames, nonce);
        if (results.isPresent()) {
            detachment = null;
            results.get().forEach(this::tell);
        } else {
            prepare(asked);
        }
    }

    private void giveUp(String why, Frames frames, Answer answer) throws UnreachableException {
        if (hasEnded(answer)) {
            var begun = new HashSet<String>();
            for (var frame : frames.every("begun")) {
                begun.add(frame.at(0));
            }
            var result = Result.failed(why + "; it was not begun");
            terminations.forEach((number, termination) -> {
                if (!begun.contains(Integer.toString(number))) {
                    tell(termination.action(), result);
                }
            });
            if (!begun.contains("detach")) {
                List.copyOf(open).stream()
                        .filter(Action.Detach.class::isInstance)
                        .forEach(action -> tell(action, result));
            }
        }
        giveUp(why);
    }

    /** Whether nothing can have been begun there that was not told. While a host cannot be heard, it may go on. */
    private static boolean hasEnded(Answer answer) {
        var broken = answer.broken();
        return broken == null || ENDED.contains(broken.code());
    }

    private void giveUp(String why) {
        giveUp(Result.lost(why));
    }

    private void giveUp(Result result) {
        List.copyOf(open).forEach(action -> tell(action, result));
        detachment = null;
    }

    private void tell(Action action, Result result) {
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
    public List<List<String>> deeds(String nonce) {
        var deeds = new ArrayList<List<String>>();
        terminations.forEach((number, termination) -> {
            if (open.contains(termination.action())) {
                deeds.add(termination.deed(number, nonce));
            }
        });
        if (detachment != null) {
            deeds.add(detachment.deed());
        }
        return deeds;
    }
}
