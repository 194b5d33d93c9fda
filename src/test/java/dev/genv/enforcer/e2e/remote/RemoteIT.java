package dev.genv.enforcer.e2e.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.fault.ServiceFaults;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** What the service does on a machine with a real OpenSSH server, sudo and processes. */
class RemoteIT extends RemoteSuite {
    @Test
    void auditModeChangesNothing() throws IOException {
        attachTwoDevicesOfAlice(first);
        var stray = startStray(first);
        var before = FileVersions.in(first.stateDirectory());

        var output = fleet.node
                .set("MODE", "audit")
                .set("NON_ENV_PROCESSES", "true")
                .set("MAX_DEVICES_PER_USER", 1)
                .runOnce();

        assertThat(output.exitCode()).isZero();
        assertThat(output.out())
                .hasSize(4)
                .filteredOn(line -> line.contains("skipped_audit"))
                .hasSize(2);
        assertThat(stray.isAlive()).isTrue();
        assertThat(FileVersions.in(first.stateDirectory())).isEqualTo(before);
    }

    @Test
    void processThatIgnoresSigtermIsKilled() throws IOException {
        var stubborn = closeLater(ServiceFaults.ignoring("TERM"));
        first.gpus().process(0, stubborn.pid(), "10");

        var service = fleet.node
                .set("NON_ENV_PROCESSES", "true")
                .set("GRACE", "0s")
                .set("KILL_AFTER", "2s")
                .startService();

        awaitExit(stubborn);
        assertThat(stubborn.awaitExit()).isEqualTo(137);
        await().until(() -> service.outputLines().stream()
                .anyMatch(
                        line -> line.contains("outcome=exited") && line.contains("pid=%d ".formatted(stubborn.pid()))));
        assertThat(service.outputLines())
                .filteredOn(line -> line.contains("signal=TERM outcome=signalled"))
                .hasSize(1);
    }

    @Test
    void exemptUserIsResolvedOnTheMachine() throws IOException {
        first.addUser("alice", ALICE_UID);
        var processOfAlice = closeLater(Child.ofUser(ALICE_UID));
        first.gpus().process(0, processOfAlice.pid(), "10");
        var others = startStray(first);

        fleet.setHosts(first)
                .node
                .set("NON_ENV_PROCESSES", "true")
                .set("EXEMPT_USERS", "alice")
                .runOnce();

        awaitExit(others);
        assertThat(processOfAlice.isAlive()).isTrue();
    }

    @Test
    void heldLockPreventsOnlyDetachments() throws IOException {
        attachTwoDevicesOfAlice(first);
        var stray = startStray(first);
        fleet.node
                .set("NON_ENV_PROCESSES", "true")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("LOCK_TIMEOUT", "300ms");

        try (var _ = RealFlock.take(first.stateDirectory().resolve("genv.lock"))) {
            var held = fleet.node.runOnce();

            assertThat(held.exitCode()).isEqualTo(1);
            assertThat(stray.awaitExit()).isEqualTo(143);
            assertThat(held.out())
                    .last()
                    .asString()
                    .contains("(failed: ")
                    .contains("process %d (java)"
                            .formatted(ProcessHandle.current().pid()));
            assertThat(devicesJson(first)).hasContent(first.state().devicesJson());
        }

        var output = fleet.node.runOnce();
        assertThat(output.exitCode()).isZero();
        assertThat(devicesJson(first))
                .as("%s", output)
                .hasContent(first.state().device(1).devicesJson());
    }
}
