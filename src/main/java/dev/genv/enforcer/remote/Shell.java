package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.UnreachableException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Has the shell of a host do what a script of ours says. */
final class Shell {
    private static final int MOST_OUTPUT = 16 << 20;
    private static final int NONCE_BYTES = 16;
    private static final long HUNDREDTHS = 100;
    /** For the way there and back, and for what cannot be told in advance. */
    private static final Duration MARGIN = Duration.ofSeconds(1);

    private final Terms terms;
    private final Places places;
    private final RandomGenerator random;

    /**
     * For any host.
     *
     * @param random nobody must be able to foretell it
     */
    Shell(Terms terms, Places places, RandomGenerator random) {
        this.terms = terms;
        this.places = places;
        this.random = random;
    }

    /**
     * Where things are on a host.
     *
     * @param shell what runs the parts that may have to be left behind
     */
    record Places(String proc, String etc, String shell) {
        static final Places USUAL = new Places("/proc", "/etc", "/bin/sh");
    }

    /**
     * What came of it.
     *
     * @param nonce the word that told our lines from others
     * @param frames our lines, as far as they came
     */
    record Said(String nonce, Frames frames, Answer answer) {}

    /**
     * Runs it.
     *
     * @param values of the names in capitals, besides those that every script has
     */
    Said run(Exchange host, Script script, Map<String, String> values, List<String> call)
            throws UnreachableException, InterruptedException {
        var bytes = new byte[NONCE_BYTES];
        random.nextBytes(bytes);
        var nonce = HexFormat.of().formatHex(bytes);
        var all = new LinkedHashMap<>(values);
        all.put("NONCE", nonce);
        all.put("BUDGET", hundredths(budget()));
        all.put("PROC", places.proc);
        all.put("ETC", places.etc);
        all.put("SH", places.shell);
        all.put("STATE", terms.stateDirectory());
        all.put("OWN", ShellAgent.FOLDER);
        all.put("LOCK_WAIT", hundredths(terms.lockTimeout()));
        var command = terms.sudo() ? "sudo -n /bin/sh" : "/bin/sh";
        var answer = host.run(new Request(command, script.with(all, call), terms.timeout(), MOST_OUTPUT));
        return new Said(nonce, Frames.parse(answer.output(), nonce), answer);
    }

    /** In the unit of the kernel's clock ticks, which is that of {@code /proc/uptime} too. */
    static String hundredths(Duration duration) {
        return Long.toString(duration.toMillis() * HUNDREDTHS / 1000);
    }

    private Duration budget() {
        var most = terms.timeout().minus(MARGIN);
        return most.compareTo(MARGIN) < 0 ? MARGIN : most;
    }
}
