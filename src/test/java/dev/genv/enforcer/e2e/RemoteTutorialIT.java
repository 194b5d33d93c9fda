package dev.genv.enforcer.e2e;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The tutorial on a machine that the program enforces over SSH. */
class RemoteTutorialIT extends Tutorial {
    private SshFleet fleet;

    @BeforeEach
    void makeFleet() throws IOException {
        fleet = new SshFleet(directory);
        var host = fleet.start("gpu-1");
        node = fleet.list(host).node;
        state = host.state();
        gpus = host.gpus();
        devicesJson = host.stateDirectory().resolve("devices.json");
        prefix = "[%s] ".formatted(host.target());
        onHosts = " on 1 hosts";
    }

    @AfterEach
    void closeFleet() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
    }
}
