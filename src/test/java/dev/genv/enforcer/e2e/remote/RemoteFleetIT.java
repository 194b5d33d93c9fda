package dev.genv.enforcer.e2e.remote;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Several machines with real OpenSSH servers, sudo and processes. */
@Tag("long")
class RemoteFleetIT extends RemoteSuite {
    @Test
    void quotaCountsDevicesOnAllMachines() throws IOException {
        var hosts = new ArrayList<>(List.of(first, second));
        for (var name : List.of("gpu-3", "gpu-4", "gpu-5")) {
            hosts.add(fleet.startMachine(name));
        }
        for (var host : hosts) {
            attachTwoDevicesOfAlice(host);
        }
        fleet.setHosts(hosts.toArray(RealSshd[]::new));

        var output = fleet.node.set("MAX_DEVICES_PER_USER", 9).runOnce();

        assertThat(output.exitCode()).isZero();
        assertThat(output.out()).hasSize(2);
        assertThat(output.out().getFirst())
                .isEqualTo("User alice is using 10 devices on 5 hosts which is 1 more than the maximum allowed");
        assertThat(output.out().getLast()).endsWith("Detaching environment alices of user alice from device 1");
        var changed = hosts.stream().filter(RemoteFleetIT::isDetached).toList();
        assertThat(changed).hasSize(1);
        var there = changed.getFirst();
        assertThat(output.out().getLast()).startsWith("[%s] ".formatted(there.target()));
        assertThat(devicesJson(there))
                .as("byte for byte in genv's form")
                .hasContent(there.state().device(1).devicesJson());
    }

    @Test
    void unreachableMachineDoesNotAffectOthers() throws IOException {
        first.stop();
        var strayFirst = startStray(first);
        var straySecond = startStray(second);

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").runOnce();

        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(straySecond.awaitExit()).isEqualTo(143);
        assertThat(strayFirst.isAlive()).isTrue();
        assertThat(output.out()).hasSize(2).allMatch(line -> line.startsWith("[%s] ".formatted(second.target())));
        assertThat(output.log()).anyMatch(line -> line.contains(first.target()) && line.contains("host_unreachable"));
    }

    @Test
    void machineWithSeveralNamesCountsOnce() throws Exception {
        attachTwoDevicesOfAlice(first);
        var stray = startStray(first);
        fleet.node
                .set("REMOTE_SSH_CONFIG", fleet.writeSshConfig(first))
                .set("REMOTE_HOSTS", "%s,%s,gpu-1,%s".formatted(first.target(), second.target(), first.target()))
                .set("MAX_DEVICES_PER_USER", 2)
                .set("GRACE", "0s")
                .set("NON_ENV_PROCESSES", "true");
        var serviceClient = new ServiceClient(fleet.node.startService());

        awaitExit(stray);
        await().until(() -> serviceClient.observe("gpu-1").problems().contains("duplicate_host")
                || serviceClient.observe(first.target()).problems().contains("duplicate_host"));

        assertThat(serviceClient.json("/hosts")).hasSize(3);
        assertThat(serviceClient.json("/violations")).hasSize(1);
        assertThat(serviceClient.json("/violations").path(0).path("rule").asText())
                .isEqualTo("non-env-processes");
        var counting = serviceClient.observe("gpu-1").problems().isEmpty() ? "gpu-1" : first.target();
        assertThat(serviceClient.json("/violations").path(0).path("host").asText())
                .isEqualTo(counting);
        var observation = serviceClient.observe(counting);
        for (var observations = 0; observations < 3; observations++) {
            observation = serviceClient.awaitNext(observation, counting);
            assertThat(observation).as("the name that counts stays").matches(ServiceClient.Observation::isHealthy);
        }
        assertThat(devicesJson(first)).hasContent(first.state().devicesJson());
    }

    @Test
    void machinesCanBeAddedAndRemovedInTheHostFile() throws Exception {
        var file = writeHostFile("# the fleet\n%s\n".formatted(first.target()));
        fleet.node
                .unset("REMOTE_HOSTS")
                .set("REMOTE_HOSTFILE", file)
                .set("GRACE", "0s")
                .set("NON_ENV_PROCESSES", "true");
        var service = fleet.node.startService();
        var serviceClient = new ServiceClient(service);
        serviceClient.awaitHealthy(HANG, first.target());
        var stray = startStray(second);
        assertThat(serviceClient.json("/hosts")).hasSize(1);

        writeHostFile("%s # the old one\n\n%s\n".formatted(first.target(), second.target()));
        awaitExit(stray);
        serviceClient.awaitHealthy(HANG, second.target());

        writeHostFile(second.target() + "\n");
        await().until(() -> serviceClient.json("/hosts").size() == 1);
        assertThat(serviceClient.observe(second.target())).matches(ServiceClient.Observation::isHealthy);
        await().until(() -> first.connections().isEmpty());

        writeHostFile("not a host name\n");
        await().until(() -> service.outputLines().stream()
                .anyMatch(line -> line.contains(file + " cannot be used") && line.contains("line 1")));
        awaitExit(startStray(second));
        assertThat(serviceClient.json("/hosts")).as("the last good list").hasSize(1);
    }

    @Test
    void machineWithoutGpuIsNoError() throws IOException {
        first.gpus().gpuLines("");
        var stray = startStray(second);

        var output = fleet.node.set("NON_ENV_PROCESSES", "true").runOnce();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
    }

    private Path writeHostFile(String lines) throws IOException {
        var finished = Files.writeString(directory.resolve("hosts.new"), lines);
        return Files.move(finished, directory.resolve("hosts.txt"), StandardCopyOption.ATOMIC_MOVE);
    }

    private static boolean isDetached(RealSshd host) {
        try {
            return !Files.readString(devicesJson(host)).equals(host.state().devicesJson());
        } catch (IOException e) {
            return false;
        }
    }
}
