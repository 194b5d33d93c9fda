package dev.genv.enforcer.remote.genv;

import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRequest;
import dev.genv.enforcer.remote.ShellWords;
import java.time.Duration;

/**
 * The two commands of genv's remote protocol, as {@code genv remote enforce} of genv 1.4.3 sends them: {@code sudo genv usage
 * snapshot}, which gets no input, and {@code sudo genv usage execute}, which gets one JSON object. sudo must not ask for a password. Its messages must be in English, because the agent recognises their words.
 */
final class GenvCommand {
    /** The snapshot of a busy machine has about ten thousand bytes. */
    private static final int MAX_OUTPUT = 16 << 20;

    private static final String USUAL_DIRECTORY = "/var/tmp/genv";

    private final String genv;
    private final Duration timeout;

    GenvCommand(AgentConfig config) {
        // sudo sets the variable itself, so that sudoers only has to allow genv.
        var directory = config.stateDirectory().equals(USUAL_DIRECTORY)
                ? ""
                : ShellWords.quote("GENV_TMPDIR=" + config.stateDirectory()) + " ";
        genv = "env LC_ALL=C " + (config.sudo() ? "sudo -n " : "") + directory + "genv";
        timeout = config.timeout();
    }

    CommandRequest snapshot() {
        return new CommandRequest(genv + " usage snapshot", "", timeout, MAX_OUTPUT);
    }

    CommandRequest execute(String report) {
        return new CommandRequest(genv + " usage execute", report, timeout, MAX_OUTPUT);
    }
}
