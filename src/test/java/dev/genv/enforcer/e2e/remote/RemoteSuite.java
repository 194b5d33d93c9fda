package dev.genv.enforcer.e2e.remote;

import dev.genv.enforcer.e2e.SshFleetSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Path;

/** Machines on which a user can have an environment with two devices. */
abstract class RemoteSuite extends SshFleetSuite {
    static final int ALICE_UID = 54_011;

    void attachTwoDevicesOfAlice(RealSshd host) throws IOException {
        host.addUser("alice", ALICE_UID);
        host.state()
                .env(
                        "alices",
                        ALICE_UID,
                        "alice",
                        null,
                        closeLater(Child.ofUser(ALICE_UID)).pid())
                .device(0, "alices")
                .device(1, "alices")
                .device(2)
                .write();
    }

    static Path devicesJson(RealSshd host) {
        return host.stateDirectory().resolve("devices.json");
    }
}
