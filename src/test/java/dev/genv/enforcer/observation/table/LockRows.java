package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.LOCK_LIMIT;
import static dev.genv.enforcer.observation.table.FactRow.row;

import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.testsupport.linux.RealLease;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** genv's lock. */
final class LockRows {
    private static final String LEASED = "is kept from being opened by its owner (fcntl F_SETLEASE)";
    private static final String WITHOUT_LOCK = ". The state is read without it; nothing can be detached";

    static final List<FactRow> ROWS = List.of(
            row("a directory in place of genv's lock", machine -> {
                        Files.createDirectory(machine.state.resolve("genv.lock"));
                        machine.lock = new LockFacts(
                                LockFacts.Outcome.UNUSABLE,
                                "is not a regular file",
                                LOCK_LIMIT,
                                Duration.ZERO,
                                List.of());
                    })
                    .problem("LOCK_UNUSABLE: genv.lock is not a regular file" + WITHOUT_LOCK),
            row("a link in place of genv's lock", machine -> {
                        Files.createSymbolicLink(machine.state.resolve("genv.lock"), Path.of("/etc/passwd"));
                        machine.lock = new LockFacts(
                                LockFacts.Outcome.UNUSABLE, "is a symbolic link", LOCK_LIMIT, Duration.ZERO, List.of());
                    })
                    .problem("LOCK_UNUSABLE: genv.lock is a symbolic link" + WITHOUT_LOCK),
            row("genv's lock held by a process", machine -> machine.holdLock(900, ALICE))
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900"
                            + " (python) of uid 1003"
                            + WITHOUT_LOCK),
            row("genv's lock held by a process that has exited", machine -> {
                        machine.holdLock(900, ALICE);
                        machine.noProcess(900);
                        var holder = new LockFacts.Holder(900, null, null);
                        machine.lock =
                                new LockFacts(LockFacts.Outcome.TIMEOUT, "", LOCK_LIMIT, LOCK_LIMIT, List.of(holder));
                    })
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900,"
                            + " which has exited; a child of it may still hold the lock"
                            + WITHOUT_LOCK),
            row("a file lease on genv's lock", machine -> {
                        machine.open.add(RealLease.take(Files.createFile(machine.state.resolve("genv.lock"))));
                        machine.lock =
                                new LockFacts(LockFacts.Outcome.UNUSABLE, LEASED, LOCK_LIMIT, Duration.ZERO, List.of());
                    })
                    .problem("LOCK_UNUSABLE: genv.lock " + LEASED + WITHOUT_LOCK));

    private LockRows() {}
}
