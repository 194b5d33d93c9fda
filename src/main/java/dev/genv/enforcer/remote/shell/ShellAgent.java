package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.Evasion;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.remote.Agent;
import dev.genv.enforcer.remote.Exchange;
import dev.genv.enforcer.remote.Terms;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Looks at a host and acts on it with a shell there, and with nothing that would have to be installed. */
public final class ShellAgent implements Agent {
    /** The folder in the state directory that is ours alone. */
    static final String FOLDER = ".genv-enforcer.d";

    private final String name;
    private final Terms terms;
    private final String service;
    private final Shell shell;
    private final LongSupplier nanos;
    private final List<ProtectedExecutable> programs;
    private final HostMemory memory;
    private final Evasion evasion = new Evasion();
    private @Nullable Seen seen;

    /** Agents of one service, each for the host of that name. */
    public static Function<String, Agent> ofOneService(Terms terms) {
        var random = new SecureRandom();
        var service = HexFormat.of().toHexDigits(random.nextLong());
        var shell = new Shell(terms, Shell.Places.USUAL, random);
        return name -> new ShellAgent(name, terms, service, shell, System::nanoTime);
    }

    /**
     * For one host.
     *
     * @param name how reports call it
     * @param service tells this service from others that act on the same hosts
     * @param nanos as {@link System#nanoTime}
     */
    ShellAgent(String name, Terms terms, String service, Shell shell, LongSupplier nanos) {
        this.name = name;
        this.terms = terms;
        this.service = service;
        this.shell = shell;
        this.nanos = nanos;
        programs = ProtectedExecutable.with(terms.protectedExecutables());
        memory = HostMemory.fresh(terms.stateDirectory(), nanos);
    }

    @Override
    public Host.Look look(Exchange host, Set<ProcessId> verified) throws UnreachableException, InterruptedException {
        seen = null;
        var start = nanos.getAsLong();
        var left = memory.silent().left();
        var said = shell.say(host, new LookMessage(terms, service, programs, memory, verified, left));
        var frames = said.frames();
        if (!frames.complete() || !frames.hasNone("lacks")) {
            throw said.failure();
        }
        var answer = new LookAnswer(name, terms, programs, memory, said.nonce(), frames);
        var look = answer.look(verified, left);
        seen = answer.seen(look, start);
        return look;
    }

    @Override
    public void perform(Exchange host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var known = seen;
        var obstacle = known == null ? "the host has not been seen since it was last lost" : known.watchesOnly();
        if (known == null || obstacle != null) {
            var failed = Result.failed(String.valueOf(obstacle));
            actions.forEach(action -> done.accept(action, failed));
            return;
        }
        var passed = Duration.ofNanos(nanos.getAsLong() - known.nanos());
        var deadline = known.ticks() + Long.parseLong(Shell.hundredths(passed.plus(terms.timeout())));
        new Deeds(known, service, deadline, evasion, done).run(actions, shell, host);
    }
}
