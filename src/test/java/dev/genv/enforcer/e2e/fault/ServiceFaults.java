package dev.genv.enforcer.e2e.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.HangingMount;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Faults of the service itself, of processes that it signals, and of file systems. */
public final class ServiceFaults {
    private static final Map<String, String> PATH = Map.of("PATH", "/usr/bin:/bin");

    private ServiceFaults() {}

    /** KILL_AFTER must be short. */
    static List<Fault> ofProcesses() {
        Fault ignored = Fault.harmless("a process that ignores SIGTERM", _ -> {}, _ -> {});
        ignored.starter = () -> ignoring("TERM");
        ignored.logText = "signal=KILL outcome=signalled";
        return List.of(
                ignored,
                Fault.harmless(
                        "a second enforcer",
                        ServiceFaults::startSecondService,
                        FaultyNode::stopHelper,
                        "second_enforcer"),
                Fault.preventingTermination(
                        "the service is stopped by SIGSTOP",
                        node -> {
                            signal(node, "STOP");
                            await().until(() -> isStopped(node.service()));
                        },
                        node -> signal(node, "CONT")));
    }

    /** File systems that never answer. */
    static List<Fault> ofMounts() {
        return List.of(
                mounted(
                        "a user mounts a FUSE file system over the state directory",
                        node -> node.state,
                        TestUsers.ATTACKER_UID,
                        "state_user_mount"),
                mounted(
                        "root mounts a file system over the state directory that does not answer",
                        node -> node.state,
                        0,
                        "state_timeout"));
    }

    /** The service has its own mount namespace. */
    static void prepareMounts(Node node) throws IOException {
        var obstacle = HangingMount.reasonUnavailable();
        Requirements.require(obstacle.isEmpty(), "FUSE mounts", obstacle.orElse(""));
        node.launchWith("unshare", "-m");
    }

    private static Fault mounted(String what, Function<FaultyNode, Path> point, long uid, String code) {
        return Fault.preventingTermination(
                what,
                node -> node.setHelper(HangingMount.mount(
                        point.apply(node), node.service().process().pid(), uid)),
                FaultyNode::stopHelper,
                code,
                "membership_unknown");
    }

    /** A program inherits the ignored signals of the shell that executes it. */
    public static Child ignoring(String signal) throws IOException {
        var child = Child.running(List.of("/bin/sh", "-c", "trap '' %s; exec sleep 600".formatted(signal)), PATH);
        await().until(() -> child.command().equals("sleep"));
        return child;
    }

    private static void startSecondService(FaultyNode node) throws IOException {
        var other = node.node.startService();
        node.setOtherService(other);
        node.setHelper(() -> {
            other.stop();
            assertThat(other.outputLines())
                    .as("the second's log")
                    .noneMatch(line -> line.contains("outcome=signalled"));
        });
    }

    private static void signal(FaultyNode node, String name) throws IOException {
        Command.run("kill", "-" + name, Long.toString(node.service().process().pid()));
    }

    static boolean isStopped(Node.Service service) throws IOException {
        var stat = Files.readString(
                Path.of("/proc", Long.toString(service.process().pid()), "stat"));
        return stat.substring(stat.lastIndexOf(')')).startsWith(") T");
    }

    /**
     * A state directory on a disk of a few pages, which only root can mount, and a user with a quota of 0: the service must detach while
     * there is no space for a new file.
     */
    static final class FullDisk implements AutoCloseable {
        private static final String HEAVY_USER = "greedy";

        private Child shell;
        private Path mounted;

        void prepare(Node node) throws IOException {
            Requirements.root();
            shell = Child.ofUser(TestUsers.ATTACKER_UID);
            Command.run(
                    "mount", "-t", "tmpfs", "-o", "size=128k,mode=0777", "genv-test", node.stateDirectory.toString());
            mounted = node.stateDirectory;
            node.set("MAX_DEVICES_FOR_USER", HEAVY_USER + "=0").set("GRACE", "1s");
        }

        Fault fault() {
            Fault fault =
                    Fault.harmless("the disk is full when an attachment must be detached", this::fill, this::free);
            fault.logText = "outcome=failed";
            return fault;
        }

        private void fill(FaultyNode node) throws IOException {
            var files = node.node
                    .state
                    .env(HEAVY_USER, TestUsers.ATTACKER_UID, HEAVY_USER, null, shell.pid())
                    .device(2, HEAVY_USER);
            try (var _ = RealFlock.take(node.lock())) {
                Files.writeString(node.state.resolve("envs.json"), files.envsJson());
                Files.writeString(node.state.resolve("devices.json"), files.devicesJson());
                Command.fillDisk(filler());
            }
        }

        private void free(FaultyNode node) throws IOException {
            Files.delete(filler());
            var detached = node.node.state.device(2).devicesJson();
            await().until(() ->
                    Files.readString(node.state.resolve("devices.json")).equals(detached));
        }

        private Path filler() {
            return mounted.resolve("filler");
        }

        @Override
        public void close() throws IOException {
            if (shell != null) {
                shell.close();
            }
            if (mounted != null) {
                Command.run("umount", mounted.toString());
            }
        }
    }
}
