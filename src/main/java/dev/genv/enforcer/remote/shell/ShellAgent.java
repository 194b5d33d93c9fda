package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.remote.Agent;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRunner;
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
    private final AgentConfig config;
    private final String service;
    private final Shell shell;
    private final LongSupplier nanos;
    private final List<ProtectedExecutable> programs;
    private final ObservationContext memory;
    private final IdentityFlapping evasion = new IdentityFlapping();
    private @Nullable ObservedMachine seen;

    /** Agents of one service, each for the host of that name. */
    public static Function<String, Agent> ofOneService(AgentConfig config) {
        var random = new SecureRandom();
        var service = HexFormat.of().toHexDigits(random.nextLong());
        var shell = new Shell(config, Shell.Places.USUAL, random);
        return name -> new ShellAgent(name, config, service, shell, System::nanoTime);
    }

    /**
     * For one host.
     *
     * @param name its name in reports
     * @param service tells this service from others that act on the same hosts
     * @param nanos as {@link System#nanoTime}
     */
    ShellAgent(String name, AgentConfig config, String service, Shell shell, LongSupplier nanos) {
        this.name = name;
        this.config = config;
        this.service = service;
        this.shell = shell;
        this.nanos = nanos;
        programs = ProtectedExecutable.with(config.protectedExecutables());
        memory = ObservationContext.fresh(config.stateDirectory(), nanos);
    }

    @Override
    public Observation observe(CommandRunner host, Set<ProcessId> verified)
            throws UnreachableException, InterruptedException {
        seen = null;
        var start = nanos.getAsLong();
        var left = memory.silent().left();
        var said = shell.run(host, new ObservationMessage(config, service, programs, memory, verified, left));
        var frames = said.frames();
        if (!frames.complete() || !frames.hasNone("lacks")) {
            throw said.failure();
        }
        var answer = new ObservationAnswer(name, config, programs, memory, said.nonce(), frames);
        var observation = answer.look(verified, left);
        seen = answer.seen(observation, start);
        return observation;
    }

    @Override
    public void execute(CommandRunner host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        var known = seen;
        var obstacle = known == null ? "the host was not observed since its connection was lost" : known.watchesOnly();
        if (known == null || obstacle != null) {
            var failed = Result.failed(String.valueOf(obstacle));
            actions.forEach(action -> done.accept(action, failed));
            return;
        }
        var passed = Duration.ofNanos(nanos.getAsLong() - known.nanos());
        var deadline = known.ticks() + Long.parseLong(Shell.hundredths(passed.plus(config.timeout())));
        new RemoteActions(known, service, deadline, evasion, done).run(actions, shell, host);
    }
}
