package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.remote.Request;
import dev.genv.enforcer.remote.ShellWords;
import dev.genv.enforcer.remote.Terms;
import java.time.Duration;

/**
 * The two commands of genv's remote protocol, as {@code genv remote enforce} of genv 1.4.3 sends them: {@code sudo genv usage
 * snapshot}, which gets no input, and {@code sudo genv usage execute}, which gets one JSON object. sudo may not ask
 * for a password, and must speak English, for what it says is understood by its words.
 */
final class GenvCommand {
    /** A busy machine's snapshot has some ten thousand bytes. */
    private static final int MOST_OUTPUT = 16 << 20;

    private static final String USUAL_DIRECTORY = "/var/tmp/genv";

    private final String genv;
    private final Duration timeout;

    GenvCommand(Terms terms) {
        // sudo takes variables itself, so that sudoers need allow nothing but genv.
        var directory = terms.stateDirectory().equals(USUAL_DIRECTORY)
                ? ""
                : ShellWords.quote("GENV_TMPDIR=" + terms.stateDirectory()) + " ";
        genv = "env LC_ALL=C " + (terms.sudo() ? "sudo -n " : "") + directory + "genv";
        timeout = terms.timeout();
    }

    Request snapshot() {
        return new Request(genv + " usage snapshot", "", timeout, MOST_OUTPUT);
    }

    Request execute(String report) {
        return new Request(genv + " usage execute", report, timeout, MOST_OUTPUT);
    }
}
