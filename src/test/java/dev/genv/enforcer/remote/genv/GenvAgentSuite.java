package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.remote.AgentConfig;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** An agent for genv on a machine whose output is scripted. */
abstract class GenvAgentSuite {
    static final String SNAPSHOT = recorded("snapshot.txt");
    static final String FRESH_SNAPSHOT = recorded("snapshot-fresh.txt");

    final ScriptedCommandRunner host = new ScriptedCommandRunner();
    final GenvAgent agent = new GenvAgent("gpu-1", config(), false);

    Observation observe(String output) throws UnreachableException, InterruptedException {
        return agent.observe(host.thenReturn(output), Set.of());
    }

    static AgentConfig config() {
        return config(true, "/var/tmp/genv");
    }

    static AgentConfig config(boolean sudo, String directory) {
        return new AgentConfig(
                directory,
                Duration.ofSeconds(5),
                "nvidia-smi",
                Duration.ofSeconds(30),
                Duration.ofSeconds(10),
                sudo,
                List.of(),
                true,
                Duration.ZERO);
    }
}
