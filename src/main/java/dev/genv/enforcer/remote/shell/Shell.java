package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.CommandResult;
import dev.genv.enforcer.remote.CommandRunner;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Has the shell of a host do what a script of ours says. */
final class Shell {
    private static final int MAX_OUTPUT = 16 << 20;
    private static final int NONCE_BYTES = 16;
    private static final long HUNDREDTHS = 100;
    /** For the way there and back, and for what cannot be told in advance. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    private final AgentConfig config;
    private final Places places;
    private final RandomGenerator random;

    /**
     * For any host.
     *
     * @param random nobody must be able to foretell it
     */
    Shell(AgentConfig config, Places places, RandomGenerator random) {
        this.config = config;
        this.places = places;
        this.random = random;
    }

    /**
     * Where things are on a host.
     *
     * @param shell what runs the parts that may have to be left behind
     * @param run where services that act on the host tell each other of that
     */
    record Places(String proc, String etc, String shell, String run) {
        static final Places USUAL = new Places("/proc", "/etc", "/bin/sh", "/run/genv-enforcer");
    }

    /**
     * What came of it.
     *
     * @param nonce the word that tells our lines from others
     */
    record AgentReply(String nonce, CommandResult answer, boolean sudo) {
        /** Our lines, as far as they came. */
        Frames frames() throws UnreachableException {
            return Frames.parse(answer.output(), nonce);
        }

        /** Why they are not all there. */
        UnreachableException failure() throws UnreachableException {
            return ShellFailure.of(this);
        }
    }

    /** What is to be said to a shell, but for what all are told. */
    interface Message {
        Script script();

        String function();

        /** The values of names in capitals. */
        Map<String, String> values();

        /** What is to be done, each a function and what to call it with. */
        List<List<String>> calls(String nonce);
    }

    /** Says it, and hears the answer. */
    AgentReply run(CommandRunner host, Message message) throws UnreachableException, InterruptedException {
        var bytes = new byte[NONCE_BYTES];
        random.nextBytes(bytes);
        var nonce = HexFormat.of().formatHex(bytes);
        var values = new LinkedHashMap<>(message.values());
        values.put("NONCE", nonce);
        values.put("BUDGET", hundredths(budget()));
        values.put("PROC", places.proc);
        values.put("ETC", places.etc);
        values.put("SH", places.shell);
        values.put("STATE", config.stateDirectory());
        values.put("OWN", ShellAgent.FOLDER);
        values.put("RUN", places.run);
        values.put("LEASE_TIME", hundredths(config.lease()));
        values.put("LOCK_WAIT", hundredths(config.lockTimeout()));
        var command = config.sudo() ? "sudo -n /bin/sh" : "/bin/sh";
        var input = message.script().with(values, message.function(), message.calls(nonce));
        var answer = host.run(new CommandRequest(command, input, config.timeout(), MAX_OUTPUT));
        return new AgentReply(nonce, answer, config.sudo());
    }

    /** In the unit of the kernel's clock ticks, which is that of {@code /proc/uptime} too. */
    static String hundredths(Duration duration) {
        return Long.toString(duration.toMillis() * HUNDREDTHS / 1000);
    }

    private Duration budget() {
        var most = config.timeout().minus(MARGIN);
        var half = config.timeout().dividedBy(2);
        return most.compareTo(half) < 0 ? half : most;
    }
}
