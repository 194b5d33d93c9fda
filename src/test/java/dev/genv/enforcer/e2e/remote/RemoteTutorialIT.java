package dev.genv.enforcer.e2e.remote;

import dev.genv.enforcer.e2e.SshFleet;
import dev.genv.enforcer.e2e.tutorial.Tutorial;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The tutorial with enforcement over SSH. */
@Tag("long")
class RemoteTutorialIT extends Tutorial {
    private SshFleet fleet;

    @BeforeEach
    void makeFleet() throws IOException {
        fleet = new SshFleet(directory);
        var host = fleet.startMachine("gpu-1");
        node = fleet.setHosts(host).node;
        state = host.state();
        gpus = host.gpus();
        devicesJson = host.stateDirectory().resolve("devices.json");
        prefix = "[%s] ".formatted(host.target());
        hostsSuffix = " on 1 hosts";
    }

    @AfterEach
    void closeFleet() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
    }
}
