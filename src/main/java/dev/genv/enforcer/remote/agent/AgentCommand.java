package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.ProgramRequest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/** Sends requests to the agents on machines. */
final class AgentCommand {
    /** In bytes. Both state files at their longest take half of it. */
    static final int MAX_OUTPUT = 16 << 20;
    /** {@link AgentFailure} knows the English messages of sudo. */
    private static final String SUDO = "env LC_ALL=C sudo -n ";

    private static final int NONCE_BYTES = 16;
    /** For the way there and back, and for the start of Python. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    private final AgentConfig config;
    private final Places places;
    private final String service;
    private final RandomGenerator random;
    private final AgentProgram program;

    /**
     * Creates the command for all machines of a service.
     *
     * @param service identifies this service among others that act on the same machines
     * @param random users must not be able to predict it
     */
    AgentCommand(AgentConfig config, Places places, String service, RandomGenerator random) {
        this.config = config;
        this.places = places;
        this.service = service;
        this.random = random;
        // A service that observes again comes before its lease expires; after that an agent without a service ends.
        program = AgentProgram.withIdleTime(
                longer(config.lease(), config.timeout().multipliedBy(2)));
    }

    private static Duration longer(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? other : one;
    }

    /**
     * Directories on a machine.
     *
     * @param run where services that act on the machine keep their leases
     */
    record Places(String proc, String etc, String run) {
        static final Places USUAL = new Places("/proc", "/etc", "/run/genv-enforcer");
    }

    /** What came of a request. */
    record Reply(String nonce, CommandResult result, boolean sudo) {
        /** Returns the lines of the agent, as far as they arrived. */
        AgentOutput output() throws UnreadableAnswerException {
            return AgentOutput.parse(result.output(), nonce);
        }

        /** Returns why there is no answer. */
        UnreachableException failure() {
            return AgentFailure.of(result, sudo);
        }
    }

    /** Sends a request and waits for the answer. */
    Reply run(Connection machine, Function<Request.Common, Request> request)
            throws UnreachableException, InterruptedException {
        var bytes = new byte[NONCE_BYTES];
        random.nextBytes(bytes);
        var nonce = HexFormat.of().formatHex(bytes);
        var common = new Request.Common(
                nonce,
                longer(config.timeout().minus(MARGIN), config.timeout().dividedBy(2)),
                places.proc,
                places.etc,
                places.run,
                config.stateDirectory(),
                config.lockTimeout(),
                new Request.Lease(service, config.lease()));
        var content = request.apply(common);
        var result = machine.request(new ProgramRequest(
                config.sudo() ? SUDO + program.command() : program.command(),
                program.text(),
                AgentProgram.line(AgentJson.write(content)),
                AgentOutput.mark(nonce),
                content instanceof Request.Observe,
                config.timeout(),
                MAX_OUTPUT));
        return new Reply(nonce, result, config.sudo());
    }
}
