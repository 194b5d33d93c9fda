package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.BackgroundLoop;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/** Faults of the state directory itself and of genv's lock in it. */
final class PathFaults {
    private static final String REPLACED = "state_directory_replaced";
    private static final String UNREADABLE = "state_unreadable";
    private static final String LOCK = "lock_unusable";

    private PathFaults() {}

    static List<Fault> all() {
        return List.of(
                directory("renamed", Fault.StrayOutcome.TERMINATED, REPLACED, _ -> {}),
                directory(
                        "replaced by a symbolic link to it",
                        Fault.StrayOutcome.TERMINATED_AFTERWARDS,
                        UNREADABLE,
                        node -> Files.createSymbolicLink(node.state, movedDirectory(node))),
                directory(
                        "replaced by a symbolic link to another directory",
                        Fault.StrayOutcome.TERMINATED_AFTERWARDS,
                        UNREADABLE,
                        node -> Files.createSymbolicLink(
                                node.state, Files.createDirectories(node.state.resolveSibling("another")))),
                directory(
                        "replaced by a file",
                        Fault.StrayOutcome.TERMINATED_AFTERWARDS,
                        UNREADABLE,
                        node -> Files.createFile(node.state)),
                directory(
                        "replaced by a FIFO",
                        Fault.StrayOutcome.TERMINATED_AFTERWARDS,
                        UNREADABLE,
                        node -> Fifo.at(node.state)),
                directory(
                        "replaced by an empty directory",
                        Fault.StrayOutcome.TERMINATED,
                        REPLACED,
                        node -> Files.createDirectory(node.state)),
                lock("held for ever", "lock_timeout", node -> node.setHelper(RealFlock.take(node.lock()))),
                lock(
                        "a symbolic link to /etc/passwd",
                        LOCK,
                        node -> Files.createSymbolicLink(node.lock(), Path.of("/etc/passwd"))),
                lock("a FIFO", LOCK, node -> Fifo.at(node.lock())),
                lock("a directory", LOCK, node -> Files.createDirectory(node.lock())),
                lock(
                        "a directory that is not empty",
                        LOCK,
                        node -> Files.createDirectories(node.lock().resolve("x"))),
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

    private static Fault directory(String what, Fault.StrayOutcome stray, String code, Fault.Step instead) {
        Fault.Step inject = node -> {
            Files.move(node.state, movedDirectory(node));
            instead.run(node);
        };
        Fault.Step undo = node -> {
            remove(node.state);
            Files.move(movedDirectory(node), node.state);
        };
        var name = "the state directory is " + what;
        return stray == Fault.StrayOutcome.TERMINATED
                ? Fault.harmless(name, inject, undo, code)
                : Fault.preventingTermination(name, inject, undo, code, "membership_unknown");
    }

    private static Fault lock(String what, String code, Fault.Step inject) {
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

    private static Path movedDirectory(FaultyNode node) {
        return node.state.resolveSibling("elsewhere");
    }

    /** The directory is moved first, because another program may add files to it in its place. */
    private static void remove(Path file) throws IOException {
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            var away = file.resolveSibling("away");
            Files.move(file, away);
            delete(away);
        }
    }

    private static void delete(Path file) throws IOException {
        if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
            try (var entries = Files.list(file)) {
                for (var entry : entries.toList()) {
                    delete(entry);
                }
            }
        }
        Files.delete(file);
    }
}
