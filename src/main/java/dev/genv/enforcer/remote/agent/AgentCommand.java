package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.Connection.CommandResult;
import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.remote.agent.AgentOutput.LostAnswerException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Objects;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

    /**
     * Sends a request and waits for the answer.
     *
     * @throws LostAnswerException if there is no valid answer, and the machine may have acted
     * @throws UnreachableException if there is no answer, and the machine did not act
     */
    <A extends Answer> A ask(Connection machine, Class<A> type, Function<Request.Common, Request> request)
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
        try {
            return answer(AgentOutput.parse(result.output(), nonce), type, result);
        } catch (LostAnswerException e) {
            if (e.code() == ProblemCode.ANSWER_UNREADABLE) {
                machine.stop(); // its next answer may be invalid for the same reason
            }
            throw e;
        }
    }

    private <A extends Answer> A answer(AgentOutput output, Class<A> type, CommandResult result)
            throws UnreachableException {
        var json = output.json();
        var answer = json == null ? null : AgentJson.read(json, Answer.class);
        if (type.isInstance(answer)) {
            return type.cast(answer);
        }
        if (answer != null && !(answer instanceof Answer.Failed)) {
            throw new LostAnswerException("it is the answer to another request");
        }
        var failure = answer instanceof Answer.Failed(var why)
                ? AgentFailure.of(why)
                : AgentFailure.of(result, config.sudo(), output.isReceived());
        if (result.interruption() == null && output.begun().isEmpty()) {
            throw failure; // for want of sudo or of Python, for example
        }
        // An agent announces each action before it begins; one that has ended began no other.
        throw new LostAnswerException(
                failure.code(),
                String.valueOf(failure.getMessage()),
                action -> !result.hasEnded() || output.begun().contains(action));
    }

    /**
     * The Python program of the agent, and how it gets to a machine.
     *
     * @param command starts Python with a line that reads the program from standard input. It executes only the whole and undamaged
     *     program.
     * @param text the program
     */
    record AgentProgram(String command, String text) {
        /** The path that sudoers names. */
        static final String PYTHON = "/usr/bin/python3";

        /** The first one defines what the others need. */
        private static final String PARTS = Stream.of(
                        ("base children files trusted machine processes ancestors gpu devices"
                                        + " state lease observe act serve")
                                .split(" "))
                .map(AgentProgram::load)
                .collect(Collectors.joining());

        /**
         * The name is for people who list processes. {@code -I} and {@code -S} keep files and variables of the login user out of the program. A buffer of one byte reads nothing
         * ahead, because requests follow the program.
         */
        private static final String COMMAND = PYTHON + " -I -S -c '\"genv-enforcer\";import binascii,io,sys;"
                + "p=io.BufferedReader(io.FileIO(0,closefd=False),1).read(%d);"
                + "exec(p)if binascii.crc32(p)&0xFFFFFFFF==0x%s else sys.exit(\"the agent arrived damaged\")'";

        /** Returns the program of agents that end after this time without a request. */
        static AgentProgram withIdleTime(Duration longest) {
            var text = PARTS + "serve(%d)\n".formatted(longest.toSeconds() + 1);
            var bytes = text.getBytes(StandardCharsets.UTF_8);
            return new AgentProgram(COMMAND.formatted(bytes.length, AgentOutput.checksum(bytes)), text);
        }

        private static String load(String part) {
            try (var stream = AgentProgram.class.getResourceAsStream(part + ".py")) {
                return new String(Objects.requireNonNull(stream, part).readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Returns the line of a request, which is executed only if it is whole and undamaged. */
        static String line(byte[] json) {
            return new String(json, StandardCharsets.UTF_8) + " " + AgentOutput.checksum(json) + "\n";
        }
    }

    /** Says why the agent gave no answer, from the other output of its command. */
    static final class AgentFailure {
        private static final int NOT_FOUND = 127;
        private static final int LONGEST = 200;
        /** What sudo says where its name is not before it, and every line with its name but the one after which it goes on. */
        private static final Pattern SUDO_REFUSED = Pattern.compile(
                "not allowed to execute|may not run sudo|not in the sudoers file|not allowed to run sudo"
                        + "|(?m)^sudo(-rs)?: (?!unable to resolve host )");

        private static final Pattern PYTHON_MISSING =
                Pattern.compile(Pattern.quote(AgentProgram.PYTHON) + ": (command )?not found");
        /** What the program says, or an interpreter that does not know its language. */
        private static final Pattern PYTHON_TOO_OLD =
                Pattern.compile("(?m)^Python [0-9.]+ is too old$|^SyntaxError: |^Unknown option: -I");

        private static final String NOPASSWD =
                "sudo on the machine requires a password or refuses: allow USER ALL=(root) NOPASSWD: "
                        + AgentProgram.PYTHON + " in sudoers";

        private AgentFailure() {}

        /** Returns the failure that the agent itself reports. */
        static UnreachableException of(String reported) {
            return new UnreachableException(ProblemCode.AGENT_FAILED, SafeText.escape(reported, LONGEST));
        }

        /**
         * Returns why a command ended without an answer.
         *
         * @param sudo whether the command begins with sudo
         * @param isReceived whether the agent began to work on the request
         */
        static UnreachableException of(CommandResult result, boolean sudo, boolean isReceived) {
            var interruption = result.interruption();
            if (interruption != null) {
                return interruption;
            }
            var errors = result.errors();
            var code = result.exitCode() == null ? 0 : result.exitCode();
            // A login shell that refuses says so on standard output, on which an agent prints nothing for people.
            var words = errors.isBlank() && !isReceived ? result.output() : errors;
            var printed = words.isBlank() ? "it printed nothing" : SafeText.escape(words.strip(), LONGEST);
            if (code == 0) {
                return new UnreachableException(
                        ProblemCode.ANSWER_UNREADABLE,
                        "its answer cannot be read: the end of it is missing; " + printed);
            }
            if (isReceived) {
                return new UnreachableException(
                        ProblemCode.AGENT_FAILED,
                        "%s on the machine exited with %d: %s".formatted(AgentProgram.PYTHON, code, printed));
            }
            if (PYTHON_MISSING.matcher(errors).find() || (!sudo && code == NOT_FOUND)) {
                return new UnreachableException(
                        ProblemCode.AGENT_MISSING, "there is no " + AgentProgram.PYTHON + ": " + printed);
            }
            if (PYTHON_TOO_OLD.matcher(errors).find()) {
                return new UnreachableException(
                        ProblemCode.AGENT_MISSING, AgentProgram.PYTHON + " is older than Python 3.6: " + printed);
            }
            if (sudo && SUDO_REFUSED.matcher(errors).find()) {
                return new UnreachableException(ProblemCode.SUDO_REFUSED, NOPASSWD + ": " + printed);
            }
            return code == NOT_FOUND
                    ? new UnreachableException(
                            ProblemCode.SUDO_MISSING,
                            "there is no sudo (GENV_ENFORCER_REMOTE_SUDO=false if root logs in): " + printed)
                    : new UnreachableException(
                            ProblemCode.AGENT_FAILED,
                            "the command of the login exited with %d before the agent began: %s"
                                    .formatted(code, printed));
        }
    }
}
