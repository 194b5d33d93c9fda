package dev.genv.enforcer.e2e.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.HangingMount;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The faults of the state, of nvidia-smi, of the service itself, of processes that it signals, and of file systems. */
final class Faults {
    private static final String ENVS = "envs.json";
    private static final String DEVICES = "devices.json";
    private static final String UNREADABLE = "state_unreadable";
    private static final String LOCK = "lock_unusable";
    private static final String TOOL_FAILED = "gpu_tool_failed";
    private static final String GPU_LOST = "gpu_lost";
    private static final Path SYSTEM_FILE = Path.of("/etc/passwd");

    private Faults() {}

    /** Faults of one file. Without envs.json it is unknown whether an environment lists a process without an id. */
    static List<Fault> ofFiles() {
        return List.of(
                unreadableEnvs("is missing", Files::delete, "state_incomplete"),
                unreadableEnvs(
                        "is truncated in the middle",
                        file -> {
                            var content = Files.readString(file);
                            Files.writeString(file, content.substring(0, content.length() / 2));
                        },
                        UNREADABLE),
                unreadableEnvs("is 7 MiB large", file -> Files.writeString(file, " ".repeat(7 << 20)), UNREADABLE),
                unreadableEnvs(
                        "is nested 100,000 deep", file -> Files.writeString(file, "[".repeat(100_000)), UNREADABLE),
                unreadableEnvs(
                        "is a symbolic link to /etc/passwd",
                        file -> {
                            Files.delete(file);
                            Files.createSymbolicLink(file, SYSTEM_FILE);
                        },
                        UNREADABLE),
                unreadableEnvs(
                        "is a FIFO",
                        file -> {
                            Files.delete(file);
                            Programs.fifo(file);
                        },
                        UNREADABLE),
                Fault.harmless(
                        "`envs.json` is replaced by an equal file all the time",
                        node -> node.setHelper(new FaultyNode.BackgroundLoop(() -> node.node.state.write())),
                        node -> {
                            node.stopHelper();
                            restore(node, ENVS);
                        }),
                harmlessChange(ENVS, "has an entry of wrong types", file -> addEntry(file, """
                    {"eid": "x", "uid": "0", "creation": 1, "username": [], "config": 7, "pids": "1"}\
                    """), "entry_unreadable"),
                harmlessChange(
                        DEVICES,
                        "has a second entry of the job's device, without an attachment",
                        file -> addEntry(file, """
                            {"index": 0, "total_memory": "1mi", "attachments": []}\
                            """),
                        "entry_unreadable"),
                harmlessChange(
                        DEVICES,
                        "is a device",
                        file -> {
                            Files.delete(file);
                            Programs.run("mknod", file.toString(), "c", "1", "5");
                        },
                        UNREADABLE));
    }

    /** Faults of the directory itself and of genv's lock in it. */
    static List<Fault> ofPaths() {
        return List.of(
                Fault.harmless(
                        "the state directory is renamed",
                        Faults::moveDirectory,
                        Faults::restoreDirectory,
                        "state_directory_replaced"),
                Fault.preventingTermination(
                        "the state directory is replaced by a symbolic link to another directory",
                        node -> {
                            moveDirectory(node);
                            var another = Files.createDirectories(node.state.resolveSibling("another"));
                            Files.createSymbolicLink(node.state, another);
                        },
                        Faults::restoreDirectory,
                        UNREADABLE,
                        "membership_unknown"),
                lock("held for ever", node -> node.setHelper(RealFlock.take(node.lock())), "lock_timeout"),
                lock(
                        "a symbolic link to /etc/passwd",
                        node -> Files.createSymbolicLink(node.lock(), SYSTEM_FILE),
                        LOCK),
                lock(
                        "a directory that is not empty",
                        node -> Files.createDirectories(node.lock().resolve("x")),
                        LOCK),
                Fault.harmless(
                                "`genv.lock` is deleted and created all the time",
                                node -> node.setHelper(new FaultyNode.BackgroundLoop(() -> {
                                    Files.deleteIfExists(node.lock());
                                    Files.createFile(node.lock());
                                })),
                                FaultyNode::stopHelper)
                        .mayAlsoReport(LOCK)
                        .affectingLock());
    }

    /** GPU_TIMEOUT must be short. */
    static List<Fault> ofTool() {
        var withoutAccess = toolFailure(
                "reports `Failed to initialize NVML: Unknown Error`, as in a container without its devices",
                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                "gpu_needs_new_container");
        withoutAccess.failsLiveness = true;
        return List.of(
                Fault.preventingTermination(
                        "nvidia-smi is missing",
                        node -> Files.move(tool(node), tool(node).resolveSibling("away")),
                        node -> Files.move(tool(node).resolveSibling("away"), tool(node)),
                        TOOL_FAILED),
                withoutAccess,
                toolFailure(
                        "hangs and ignores signals", "trap '' TERM HUP INT; while :; do sleep 1; done", TOOL_FAILED));
    }

    static List<Fault> ofListings() {
        return List.of(
                Fault.harmless(
                        "nvidia-smi prints unreadable lines between the others",
                        node -> node.node.gpus.fault(
                                "case $1 in *compute-apps*) printf 'a,b\\n\\001\\377,,,\\n%05000d\\n' 1 ;; esac"),
                        node -> node.node.gpus.noFault(),
                        "gpu_line_unreadable"),
                Fault.preventingTermination(
                        "nvidia-smi reports `No devices were found` after it listed some",
                        node -> node.node.gpus.gpus(0),
                        Faults::restoreGpus,
                        GPU_LOST),
                // The service keeps the list of devices for a minute, unless there is a problem.
                Fault.harmless(
                                "nvidia-smi no longer lists the last GPU",
                                node -> node.node
                                        .gpus
                                        .gpus(FaultyNode.GPUS - 1)
                                        .fault("[ -e \"$0.failed\" ] || { : >\"$0.failed\"; exit 9; }"),
                                Faults::restoreGpus,
                                GPU_LOST)
                        .mayAlsoReport(TOOL_FAILED));
    }

    /** KILL_AFTER must be short. */
    static List<Fault> ofProcesses() {
        Fault ignored = Fault.harmless("a process that ignores SIGTERM", _ -> {}, _ -> {});
        ignored.starter = Faults::startIgnoringProcess;
        ignored.logText = "signal=KILL outcome=signalled";
        return List.of(
                ignored,
                Fault.harmless(
                        "a second enforcer", Faults::startSecondService, FaultyNode::stopHelper, "second_enforcer"),
                Fault.preventingTermination(
                        "the service is stopped by SIGSTOP",
                        node -> {
                            signal(node, "STOP");
                            await().until(node::isServiceStopped);
                        },
                        node -> signal(node, "CONT")));
    }

    /** File systems that never answer. */
    static List<Fault> ofMounts() {
        return List.of(
                mounted(
                        "a user mounts a FUSE file system over the state directory",
                        TestUsers.ATTACKER_UID,
                        "state_user_mount"),
                mounted("root mounts a file system over the state directory that does not answer", 0, "state_timeout"));
    }

    private interface Change {
        void apply(Path file) throws Exception;
    }

    private static Fault unreadableEnvs(String what, Change change, String code) {
        return Fault.preventingTermination(
                "`envs.json` " + what,
                locked(node -> change.apply(node.state.resolve(ENVS))),
                node -> restore(node, ENVS),
                code,
                "membership_unknown");
    }

    private static Fault harmlessChange(String name, String what, Change change, String code) {
        return Fault.harmless(
                "`%s` %s".formatted(name, what),
                locked(node -> change.apply(node.state.resolve(name))),
                node -> restore(node, name),
                code);
    }

    /** The fault is caused and removed under genv's lock, so that no observation sees it half done. */
    private static Fault.Step locked(Fault.Step step) {
        return node -> {
            try (var _ = RealFlock.take(node.lock())) {
                step.run(node);
            }
        };
    }

    private static void restore(FaultyNode node, String name) throws IOException {
        try (var _ = RealFlock.take(node.lock())) {
            Files.deleteIfExists(node.state.resolve(name));
            node.node.state.write();
        }
    }

    private static void addEntry(Path file, String entry) throws IOException {
        Files.writeString(file, Files.readString(file).replaceFirst("\": \\[", "\": [" + entry + ","));
    }

    private static Fault lock(String what, Fault.Step inject, String code) {
        return Fault.harmless(
                        "`genv.lock` is " + what,
                        node -> {
                            remove(node.lock());
                            inject.run(node);
                        },
                        node -> {
                            node.stopHelper();
                            remove(node.lock());
                        },
                        code)
                .affectingLock();
    }

    private static void moveDirectory(FaultyNode node) throws IOException {
        Files.move(node.state, node.state.resolveSibling("elsewhere"));
    }

    private static void restoreDirectory(FaultyNode node) throws IOException {
        remove(node.state);
        Files.move(node.state.resolveSibling("elsewhere"), node.state);
    }

    /** The file is moved first, because another program may add files to a directory in its place. */
    private static void remove(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            var away = file.resolveSibling("away");
            Files.move(file, away);
            Programs.run("rm", "-r", away.toString());
        }
    }

    private static Fault toolFailure(String what, String shell, String code) {
        return Fault.preventingTermination(
                "nvidia-smi " + what, node -> node.node.gpus.fault(shell), node -> node.node.gpus.noFault(), code);
    }

    private static void restoreGpus(FaultyNode node) throws IOException {
        node.node.gpus.noFault().gpus(FaultyNode.GPUS);
    }

    private static Path tool(FaultyNode node) {
        return node.node.gpus.path();
    }

    /** The service has its own mount namespace. */
    static void prepareMounts(Node node) throws IOException {
        var obstacle = HangingMount.reasonUnavailable();
        Requirements.require(obstacle.isEmpty(), "FUSE mounts", obstacle.orElse(""));
        node.launchWith("unshare", "-m");
    }

    private static Fault mounted(String what, long uid, String code) {
        return Fault.preventingTermination(
                what,
                node -> node.setHelper(
                        HangingMount.mount(node.state, node.service().process().pid(), uid)),
                FaultyNode::stopHelper,
                code,
                "membership_unknown");
    }

    /** A program inherits the ignored signals of the shell that executes it. */
    private static Child startIgnoringProcess() throws IOException {
        var child = Child.running(
                List.of("/bin/sh", "-c", "trap '' TERM; exec sleep 600"), Map.of("PATH", "/usr/bin:/bin"));
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
        Programs.run("kill", "-" + name, Long.toString(node.service().process().pid()));
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
            Programs.run(
                    "mount", "-t", "tmpfs", "-o", "size=128k,mode=0777", "genv-test", node.stateDirectory.toString());
            mounted = node.stateDirectory;
            node.set("MAX_DEVICES_FOR_USER", HEAVY_USER + "=0").set("GRACE", "1s");
        }

        Fault fault() {
            Fault fault =
                    // The user with the quota has no account.
                    Fault.harmless(
                            "the disk is full when an attachment must be detached",
                            this::fill,
                            this::free,
                            "setting_user_unknown");
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
                Programs.fillDisk(filler());
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
                Programs.run("umount", mounted.toString());
            }
        }
    }

    /** A fault while a service runs. Its name is its description in the table. */
    static final class Fault {
        final String name;
        final Step inject;
        final Step undo;
        /** Whether a process outside of all environments that starts during the fault is terminated only after it. */
        final boolean preventsTermination;
        /** The codes of the problems that {@code /hosts} must report. */
        final Set<String> reported;
        /** The codes that {@code /hosts} may report besides: between two states, or on a busy test machine. */
        Set<String> possiblyReported = Set.of();
        /** Text that a line of the log must contain; empty for none. */
        String logText = "";
        /** Whether other programs must wait for genv's lock too. */
        boolean affectsLock;
        /** Whether only a new container helps, so that liveness must fail. */
        boolean failsLiveness;
        /** Starts the process. */
        Starter starter = () -> Child.withEnvironment(Map.of());

        private Fault(String name, Step inject, Step undo, boolean preventsTermination, String... reported) {
            this.name = name;
            this.inject = inject;
            this.undo = undo;
            this.preventsTermination = preventsTermination;
            this.reported = Set.of(reported);
        }

        /** A change of a node. */
        interface Step {
            void run(FaultyNode node) throws Exception;
        }

        /** A way to start a process. */
        interface Starter {
            Child start() throws IOException;
        }

        /** The rules can still be applied. */
        static Fault harmless(String name, Step inject, Step undo, String... reported) {
            return new Fault(name, inject, undo, false, reported);
        }

        /** The data that the rule needs are missing. */
        static Fault preventingTermination(String name, Step inject, Step undo, String... reported) {
            return new Fault(name, inject, undo, true, reported);
        }

        Fault mayAlsoReport(String... codes) {
            possiblyReported = Set.of(codes);
            return this;
        }

        Fault affectingLock() {
            affectsLock = true;
            return this;
        }

        @Override
        public String toString() {
            return name;
        }
    }
}
