package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.enforcement.host.Machine;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;

/**
 * An agent that runs in this machine's Python and observes these directories.
 *
 * @param run where it keeps its lease
 * @param programs the paths of the protected programs
 */
public record LocalAgent(
        Path proc, Path etc, Path run, Path state, Path nvidiaSmi, Duration lockTimeout, List<String> programs) {
    /** For everything else; what the tests wait for comes sooner on any machine. */
    private static final Duration TIMEOUT = Duration.ofMinutes(2);

    public LocalAgent {
        programs = List.copyOf(programs);
    }

    /** Returns the machine that the service composes of it. Skips the test if Python is not installed. */
    public Machine machine() {
        var config = new AgentConfig(
                state.toString(),
                lockTimeout,
                nvidiaSmi.toString(),
                TIMEOUT,
                TIMEOUT,
                false,
                programs,
                true,
                Duration.ofMinutes(1));
        var places = new AgentCommand.Places(proc.toString(), etc.toString(), run.toString());
        var command = new AgentCommand(config, places, "one", new SecureRandom());
        return new AgentMachine("gpu-1", new LocalPython(), config, command, System::nanoTime);
    }
}
