package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;

/** What can be wrong with the state directory itself and with genv's lock in it. */
final class PlaceFaults {
    private static final String REPLACED = "state_directory_replaced";
    private static final String UNREADABLE = "state_unreadable";
    private static final String LOCK = "lock_unusable";

    private PlaceFaults() {}

    static List<Fault> all() {
        return List.of(
                directory("renamed", Fault.Stray.ENDED, REPLACED, _ -> {}),
                directory(
                        "replaced by a symbolic link to it",
                        Fault.Stray.SPARED,
                        UNREADABLE,
                        node -> Files.createSymbolicLink(node.state, elsewhere(node))),
                directory(
                        "replaced by a symbolic link to another directory",
                        Fault.Stray.SPARED,
                        UNREADABLE,
                        node -> Files.createSymbolicLink(
                                node.state, Files.createDirectories(node.state.resolveSibling("another")))),
                directory("replaced by a file", Fault.Stray.SPARED, UNREADABLE, node -> Files.createFile(node.state)),
                directory("replaced by a FIFO", Fault.Stray.SPARED, UNREADABLE, node -> Fifo.at(node.state)),
                directory(
                        "replaced by an empty directory",
                        Fault.Stray.ENDED,
                        REPLACED,
                        node -> Files.createDirectory(node.state)),
                lock("held for ever", "lock_timeout", node -> node.helper(RealFlock.take(node.lock()))),
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
                                node -> node.helper(new Busy(() -> {
                                    Files.deleteIfExists(node.lock());
                                    Files.createFile(node.lock());
                                })),
                                FaultyNode::stopHelper)
                        .perhaps(LOCK)
                        .onTheLockItself());
    }

    private static Fault directory(String what, Fault.Stray stray, String code, Fault.Step instead) {
        Fault.Step make = node -> {
            Files.move(node.state, elsewhere(node));
            instead.run(node);
        };
        Fault.Step undo = node -> {
            putAway(node.state);
            Files.move(elsewhere(node), node.state);
        };
        var name = "the state directory is " + what;
        return stray == Fault.Stray.ENDED
                ? Fault.harmless(name, make, undo, code)
                : Fault.blinding(name, make, undo, code, "membership_unknown");
    }

    private static Fault lock(String what, String code, Fault.Step make) {
        return Fault.harmless(
                        "`genv.lock` is " + what,
                        node -> {
                            putAway(node.lock());
                            make.run(node);
                        },
                        node -> {
                            node.stopHelper();
                            putAway(node.lock());
                        },
                        code)
                .onTheLockItself();
    }

    private static Path elsewhere(FaultyNode node) {
        return node.state.resolveSibling("elsewhere");
    }

    /** Moved first: as long as it is where it was, somebody may put more into it. */
    private static void putAway(Path file) throws IOException {
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
