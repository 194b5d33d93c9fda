package dev.genv.enforcer.e2e.cycle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.LockHolder;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.FileVersions;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A single cycle of the packaged program while another process holds genv's lock. */
class OneCycleLockIT extends NodeSuite {
    @Test
    void heldLockPreventsOnlyDetachments() throws IOException {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            var lock = Files.writeString(node.stateDirectory.resolve("genv.lock"), "");
            var before = FileVersions.in(node.stateDirectory);
            node.set("LOCK_TIMEOUT", "500ms").set("MAX_DEVICES_PER_USER", 0);

            try (var holder = LockHolder.hold(lock)) {
                var output = node.runOnce();
                member.awaitExit();
                assertThat(output.exitCode()).isEqualTo(1);
                assertThat(output.out())
                        .last()
                        .asString()
                        .startsWith("Detaching environment a of user %s from device 0 (failed: "
                                .formatted(CurrentProcess.name()))
                        .contains("process %d (flock) of uid".formatted(holder.pid()));
                assertThat(FileVersions.in(node.stateDirectory))
                        .as("no file of genv is changed")
                        .containsAllEntriesOf(before)
                        .hasSize(before.size() + 1)
                        .containsKey(".genv-enforcer.lock");
                assertThat(holder.isHeld()).isTrue();
            }

            assertThat(node.runOnce().exitCode()).isZero();
            assertThat(Files.readString(node.devicesJson()))
                    .isEqualTo(node.state.device(0).devicesJson());
        }
    }

    @Test
    void waitsForALockThatIsReleasedInTime() throws Exception {
        try (var shell = Child.withEnvironment(Map.of());
                var member = Child.inEnvironment("a")) {
            writeEnvironment(shell);
            node.gpus.process(0, member.pid(), "10");
            var lock = Files.writeString(node.stateDirectory.resolve("genv.lock"), "");
            node.set("LOCK_TIMEOUT", "60s").set("MAX_DEVICES_PER_USER", 0).set("INTERVAL", 0);

            try (var holder = LockHolder.hold(lock)) {
                var service = node.start();
                LockHolder.awaitOpenedBy(service.process().pid(), lock);
                assertThat(member.isAlive()).isTrue();
                holder.release();
                assertThat(service.process().waitFor()).isZero();
            }
            member.awaitExit();
        }
    }
}
