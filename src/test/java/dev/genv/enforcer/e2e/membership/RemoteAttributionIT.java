package dev.genv.enforcer.e2e.membership;

import dev.genv.enforcer.e2e.SshFleet;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;

/** On a machine over SSH. */
@Tag("long")
class RemoteAttributionIT extends AttributionSuite {
    @Override
    Machine start(Path folder) throws IOException {
        var fleet = new SshFleet(folder);
        var host = fleet.startMachine("gpu-1");
        fleet.setHosts(host);
        return new Machine(fleet.node, host.gpus(), host.state(), host.stateDirectory(), fleet::close);
    }
}
