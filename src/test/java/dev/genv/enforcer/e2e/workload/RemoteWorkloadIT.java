package dev.genv.enforcer.e2e.workload;

import dev.genv.enforcer.e2e.SshFleet;
import java.io.IOException;
import java.nio.file.Path;

/** On a machine over SSH. */
class RemoteWorkloadIT extends WorkloadSuite {
    private SshFleet fleet;

    @Override
    Machine start(Path folder) throws IOException {
        fleet = new SshFleet(folder);
        var host = fleet.startMachine("gpu-1");
        fleet.setHosts(host);
        return new Machine(fleet.node, host.gpus(), host.state(), host.stateDirectory());
    }

    @Override
    void stop() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
    }
}
