package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.RealFlock;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What a fleet is beyond one machine, with real OpenSSH servers, sudo and processes. */
class RemoteIT extends OnAnSshFleet {
    private static final int ALICE = 54_011;

    @Test
    void aQuotaIsForAllMachines() throws IOException {
        var hosts = new ArrayList<>(List.of(first, second));
        for (var name : List.of("gpu-3", "gpu-4", "gpu-5")) {
            hosts.add(fleet.start(name));
        }
        for (var host : hosts) {
            aliceHoldsTwoDevices(host);
        }
        fleet.list(hosts.toArray(RealSshd[]::new));

        var output = fleet.node.set("MAX_DEVICES_PER_USER", 9).once();

        assertThat(output.exitCode()).isZero();
        assertThat(output.out()).hasSize(2);
        assertThat(output.out().getFirst())
                .isEqualTo("User alice is using 10 devices on 5 hosts which is 1 more than the maximum allowed");
        assertThat(output.out().getLast()).endsWith("Detaching environment alices of user alice from device 1");
        var changed = hosts.stream().filter(RemoteIT::isDetached).toList();
        assertThat(changed).hasSize(1);
        var there = changed.getFirst();
        assertThat(output.out().getLast()).startsWith("[%s] ".formatted(there.target()));
        assertThat(devicesJson(there))
                .as("byte for byte in genv's form")
                .hasContent(there.state().device(1).devicesJson());
    }

    @Test
    void aMachineThatIsDownCostsNoOther() throws IOException {
        first.stop();
        var strayFirst = stray(first);
        var straySecond = stray(second);

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").once();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(straySecond.awaitEnd()).isEqualTo(143);
        assertThat(strayFirst.isAlive()).isTrue();
        assertThat(output.out()).hasSize(2).allMatch(line -> line.startsWith("[%s] ".formatted(second.target())));
        assertThat(output.log()).anyMatch(line -> line.contains(first.target()) && line.contains("host_unreachable"));
    }

    @Test
    void oneMachineCountsOnceUnderAllItsNames() throws Exception {
        aliceHoldsTwoDevices(first);
        var stray = stray(first);
        fleet.node
                .set("REMOTE_SSH_CONFIG", fleet.config(first))
                .set("REMOTE_HOSTS", "%s,%s,gpu-1,%s".formatted(first.target(), second.target(), first.target()))
                .set("MAX_DEVICES_PER_USER", 2)
                .set("STATE_CHANGE_GRACE", "0s")
                .set("NON_ENV_PROCESSES", "true");
        var face = new Face(fleet.node.serve());

        awaitEnd(stray);
        await().until(() -> face.look("gpu-1").problems().contains("duplicate_host")
                || face.look(first.target()).problems().contains("duplicate_host"));

        assertThat(face.json("/hosts")).hasSize(3);
        assertThat(face.json("/violations")).hasSize(1);
        assertThat(face.json("/violations").path(0).path("rule").asText()).isEqualTo("non-env-processes");
        var counting = face.look("gpu-1").problems().isEmpty() ? "gpu-1" : first.target();
        assertThat(face.json("/violations").path(0).path("host").asText()).isEqualTo(counting);
        var look = face.look(counting);
        for (var looks = 0; looks < 3; looks++) {
            look = face.after(look, counting);
            assertThat(look).as("the name that counts stays").matches(Face.Look::isGood);
        }
        assertThat(devicesJson(first)).hasContent(first.state().devicesJson());
    }

    @Test
    void machinesComeAndGoInTheFile() throws Exception {
        var file = list("# the fleet\n%s\n".formatted(first.target()));
        fleet.node
                .unset("REMOTE_HOSTS")
                .set("REMOTE_HOSTFILE", file)
                .set("STATE_CHANGE_GRACE", "0s")
                .set("NON_ENV_PROCESSES", "true");
        var service = fleet.node.serve();
        var face = new Face(service);
        face.awaitGood(HANG, first.target());
        var stray = stray(second);
        assertThat(face.json("/hosts")).hasSize(1);

        list("%s # the old one\n\n%s\n".formatted(first.target(), second.target()));
        awaitEnd(stray);
        face.awaitGood(HANG, second.target());

        list(second.target() + "\n");
        await().until(() -> face.json("/hosts").size() == 1);
        assertThat(face.look(second.target())).matches(Face.Look::isGood);
        await().until(() -> first.connections().isEmpty());

        list("not a host name\n");
        await().until(() -> service.said().stream()
                .anyMatch(line -> line.contains(file + " cannot be used") && line.contains("line 1")));
        awaitEnd(stray(second));
        assertThat(face.json("/hosts")).as("the last good list").hasSize(1);
    }

    @Test
    void anAuditTouchesNothing() throws IOException {
        aliceHoldsTwoDevices(first);
        var stray = stray(first);
        var before = everything(first);

        var output = fleet.node
                .set("MODE", "audit")
                .set("NON_ENV_PROCESSES", "true")
                .set("MAX_DEVICES_PER_USER", 1)
                .once();

        assertThat(output.exitCode()).isZero();
        assertThat(output.out())
                .hasSize(4)
                .filteredOn(line -> line.contains("skipped_audit"))
                .hasSize(2);
        assertThat(stray.isAlive()).isTrue();
        assertThat(everything(first)).isEqualTo(before);
    }

    @Test
    void whoIgnoresSigtermIsKilled() throws IOException {
        var stubborn = add(ServiceFaults.ignoring("TERM"));
        first.gpus().process(0, stubborn.pid(), "10");

        var service = fleet.node
                .set("NON_ENV_PROCESSES", "true")
                .set("STATE_CHANGE_GRACE", "0s")
                .set("KILL_AFTER", "2s")
                .serve();

        awaitEnd(stubborn);
        assertThat(stubborn.awaitEnd()).isEqualTo(137);
        await().until(() -> service.said().stream()
                .anyMatch(
                        line -> line.contains("outcome=exited") && line.contains("pid=%d ".formatted(stubborn.pid()))));
        assertThat(service.said())
                .filteredOn(line -> line.contains("signal=TERM outcome=signalled"))
                .hasSize(1);
    }

    @Test
    void usersAreThoseOfTheMachine() throws IOException {
        first.user("alice", ALICE);
        var alices = add(Child.ofUser(ALICE));
        first.gpus().process(0, alices.pid(), "10");
        var others = stray(first);

        fleet.list(first)
                .node
                .set("NON_ENV_PROCESSES", "true")
                .set("EXEMPT_USERS", "alice")
                .once();

        awaitEnd(others);
        assertThat(alices.isAlive()).isTrue();
    }

    @Test
    void aLockHeldForGoodStopsDetachmentsAndNothingElse() throws IOException {
        aliceHoldsTwoDevices(first);
        var stray = stray(first);
        fleet.node
                .set("NON_ENV_PROCESSES", "true")
                .set("MAX_DEVICES_PER_USER", 1)
                .set("LOCK_TIMEOUT", "300ms");

        try (var _ = RealFlock.take(first.stateDirectory().resolve("genv.lock"))) {
            var held = fleet.node.once();

            assertThat(held.exitCode()).isEqualTo(1);
            assertThat(stray.awaitEnd()).isEqualTo(143);
            assertThat(held.out())
                    .last()
                    .asString()
                    .contains("(failed: ")
                    .contains("process %d (java)"
                            .formatted(ProcessHandle.current().pid()));
            assertThat(devicesJson(first)).hasContent(first.state().devicesJson());
        }

        var output = fleet.node.once();
        assertThat(output.exitCode()).isZero();
        assertThat(devicesJson(first))
                .as("%s", output)
                .hasContent(first.state().device(1).devicesJson());
    }

    @Test
    void aMachineWithoutAGpuHasNothingToBeEnforced() throws IOException {
        first.gpus().gpuLines("");
        var stray = stray(second);

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").once();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
    }

    private void aliceHoldsTwoDevices(RealSshd host) throws IOException {
        host.user("alice", ALICE);
        host.state()
                .env("alices", ALICE, "alice", null, add(Child.ofUser(ALICE)).pid())
                .device(0, "alices")
                .device(1, "alices")
                .device(2)
                .write();
    }

    private Path list(String lines) throws IOException {
        var finished = Files.writeString(directory.resolve("hosts.new"), lines);
        return Files.move(finished, directory.resolve("hosts.txt"), StandardCopyOption.ATOMIC_MOVE);
    }

    private static Path devicesJson(RealSshd host) {
        return host.stateDirectory().resolve("devices.json");
    }

    private static boolean isDetached(RealSshd host) {
        try {
            return !Files.readString(devicesJson(host)).equals(host.state().devicesJson());
        } catch (IOException e) {
            return false;
        }
    }

    /** Every file of the state directory, with its content, inode and time. */
    private static Map<String, List<Object>> everything(RealSshd host) throws IOException {
        var files = new TreeMap<String, List<Object>>();
        try (var entries = Files.list(host.stateDirectory())) {
            for (var file : entries.toList()) {
                files.put(
                        file.getFileName().toString(),
                        List.of(
                                Files.readString(file),
                                Files.getLastModifiedTime(file),
                                Files.getAttribute(file, "unix:ino")));
            }
        }
        return files;
    }
}
