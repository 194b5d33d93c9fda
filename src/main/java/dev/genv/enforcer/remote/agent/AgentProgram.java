package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.remote.agent.message.Request;
import java.util.Arrays;
import java.util.Base64;
import java.util.stream.Collectors;

/** The Python programs of the agent. Python reads all of a program before it runs any, so one that is cut off does nothing. */
enum AgentProgram {
    OBSERVE(
            "observe",
            "base",
            "files",
            "trusted",
            "machine",
            "processes",
            "relations",
            "gpu",
            "state",
            "lease",
            "observe"),
    ACT("act", "base", "files", "machine", "state", "lease", "act");

    private final String function;
    private final String text;

    /** The first of its parts defines what the others need. */
    AgentProgram(String function, String... parts) {
        this.function = function;
        text = Arrays.stream(parts).map(PythonSource::load).collect(Collectors.joining());
    }

    /** Returns the program that answers a request. */
    static AgentProgram of(Request request) {
        return switch (request) {
            case Request.Observe _ -> OBSERVE;
            case Request.Act _ -> ACT;
        };
    }

    /** Returns the program with its request, which is the last line. */
    String with(byte[] request) {
        return text + "main(" + function + ", '" + Base64.getEncoder().encodeToString(request) + "')\n";
    }
}
