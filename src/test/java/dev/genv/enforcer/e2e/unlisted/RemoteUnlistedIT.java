package dev.genv.enforcer.e2e.unlisted;

import dev.genv.enforcer.e2e.SshFleet;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;

/** On a machine over SSH. */
@Tag("long")
class RemoteUnlistedIT extends UnlistedHolderSuite {
    private SshFleet fleet;
    private RealSshd host;

    @Override
    Machine start(Path folder, Path driver) throws IOException {
        fleet = new SshFleet(folder);
        host = fleet.startMachine("gpu-1");
        mount(driver.resolve("devices"), Path.of("/proc/devices"));
        mount(driver.resolve("driver"), Path.of("/proc/driver"));
        fleet.setHosts(host);
        return new Machine(fleet.node, host.gpus(), host.state(), host.stateDirectory());
    }

    @Override
    void mount(Path source, Path target) throws IOException {
        host.mount(source, target);
    }

    @Override
    void stop() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
    }
}
