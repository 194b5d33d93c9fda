package dev.genv.enforcer.remote.genv;

import static dev.genv.enforcer.remote.genv.ScriptedCommandRunner.recorded;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.machine.ObservedHost;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import dev.genv.enforcer.remote.AgentConfig;
import dev.genv.enforcer.remote.CommandRunner;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** A machine with genv whose output is scripted. */
abstract class GenvMachineSuite {
    static final String SNAPSHOT = recorded("snapshot.txt");
    static final String FRESH_SNAPSHOT = recorded("snapshot-fresh.txt");

    final ScriptedCommandRunner connection = new ScriptedCommandRunner();
    final ObservedHost host = host(connection, config(), List.of());

    Observation observe(String output) throws UnreachableException, InterruptedException {
        connection.thenReturn(output);
        return host.observe(Set.of());
    }

    static ObservedHost host(CommandRunner connection, AgentConfig config, List<String> exemptUsers) {
        return new ObservedHost(
                new ObserverSettings(
                        "gpu-1",
                        config.stateDirectory(),
                        List.of(),
                        exemptUsers,
                        true,
                        true,
                        true,
                        false,
                        Advice.LOGIN,
                        Memory.ZERO),
                new GenvMachine(connection, config));
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
                false,
                Duration.ofSeconds(10),
                sudo,
                List.of(),
                true,
                Duration.ZERO);
    }
}
