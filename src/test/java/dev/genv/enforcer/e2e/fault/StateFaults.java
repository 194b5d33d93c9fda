package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.BackgroundLoop;
import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/** Faults of the state directory, of the files in it, and of genv's lock. */
final class StateFaults {
    private static final String ENVS = "envs.json";
    private static final String DEVICES = "devices.json";
    private static final String UNREADABLE = "state_unreadable";
    private static final String LOCK = "lock_unusable";
    private static final Path SYSTEM_FILE = Path.of("/etc/passwd");

    private StateFaults() {}

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
                            Fifo.at(file);
                        },
                        UNREADABLE),
                Fault.harmless(
                        "`envs.json` is replaced by an equal file all the time",
                        node -> node.setHelper(new BackgroundLoop(() -> node.node.state.write())),
                        node -> {
                            node.stopHelper();
                            restore(node, ENVS);
                        }),
                harmlessChange(ENVS, "has an entry of wrong types", file -> addEntry(file, """
                                {"eid": "x", "uid": "0", "creation": 1, "username": [], "config": 7, "pids": "1"}"""), "entry_unreadable"),
                harmlessChange(
                        DEVICES,
                        "has a second entry of the job's device, without an attachment",
                        file -> addEntry(file, """
                                {"index": 0, "total_memory": "1mi", "attachments": []}"""),
                        "entry_unreadable"),
                harmlessChange(
                        DEVICES,
                        "is a device",
                        file -> {
                            Files.delete(file);
                            Command.run("mknod", file.toString(), "c", "1", "5");
                        },
                        UNREADABLE));
    }

    /** Faults of the directory itself and of genv's lock in it. */
    static List<Fault> ofPaths() {
        return List.of(
                Fault.harmless(
                        "the state directory is renamed",
                        StateFaults::moveDirectory,
                        StateFaults::restoreDirectory,
                        "state_directory_replaced"),
                Fault.preventingTermination(
                        "the state directory is replaced by a symbolic link to another directory",
                        node -> {
                            moveDirectory(node);
                            var another = Files.createDirectories(node.state.resolveSibling("another"));
                            Files.createSymbolicLink(node.state, another);
                        },
                        StateFaults::restoreDirectory,
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
                                node -> node.setHelper(new BackgroundLoop(() -> {
                                    Files.deleteIfExists(node.lock());
                                    Files.createFile(node.lock());
                                })),
                                FaultyNode::stopHelper)
                        .mayAlsoReport(LOCK)
                        .affectingLock());
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
            Command.run("rm", "-r", away.toString());
        }
    }
}
