package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.ATTACHMENTS;
import static dev.genv.enforcer.model.SnapshotPart.ENVIRONMENTS;
import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.BOB;
import static dev.genv.enforcer.observation.table.DescribedMachine.device;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** genv's state, its lock and its environments. */
final class StateRows {
    private static final String KERNELS =
            "KERNELS_UNKNOWN: the running Jupyter kernels are unknown, so environments with kernels count as active:"
                    + " process 51 of uid 1003: ";

    private static final String LEASED = "is kept from being opened by its owner (fcntl F_SETLEASE)";
    private static final String WITHOUT_LOCK = ". The state is read without it; nothing can be detached";

    static final List<FactRow> ROWS = List.of(
            row("no files", machine -> {
                        machine.noFile("envs.json");
                        machine.noFile("devices.json");
                    })
                    .check(seen -> assertThat(seen.environments()).isEmpty()),
            row("a link in place of envs.json", machine -> {
                        machine.noFile("envs.json");
                        Files.createSymbolicLink(machine.state.resolve("envs.json"), Path.of("/etc/passwd"));
                    })
                    .problem("STATE_UNREADABLE: envs.json: is a symbolic link")
                    .missing(ENVIRONMENTS),
            row("a pipe in place of devices.json", machine -> {
                        machine.noFile("devices.json");
                        Programs.fifo(machine.state.resolve("devices.json"));
                    })
                    .problem("STATE_UNREADABLE: devices.json: is not a regular file")
                    .missing(ATTACHMENTS),
            row("a closed file with two names", machine -> {
                        var file = machine.state.resolve("envs.json");
                        Files.createLink(machine.state.resolve("other"), file);
                        Files.setAttribute(file, "unix:mode", 0600);
                    })
                    .problem("STATE_UNREADABLE: envs.json: is closed to other users and has 2 names (hard links):"
                            + " replace it by a copy")
                    .missing(ENVIRONMENTS),
            row("a file that is too large", machine -> {
                        Files.write(machine.state.resolve("devices.json"), new byte[(6 << 20) + 1]);
                    })
                    .problem("STATE_UNREADABLE: devices.json: is larger than 6291456 bytes")
                    .missing(ATTACHMENTS)
                    .agentDiffers(
                            "Two readings of both state files must fit into one answer of the agent, so its limit is a"
                                    + " third of the node's.",
                            seen -> assertThat(seen.problems())
                                    .extracting(Problem::detail)
                                    .containsExactly("devices.json: is larger than 2097152 bytes")),
            row("a device whose entry a user has deleted", machine -> machine.devices(device(0, "a")))
                    .problem("DEVICE_UNDESCRIBED: devices.json does not describe the device(s) [1]: they count as"
                            + " attached to no environment")
                    .check(seen -> assertThat(seen.devices())
                            .containsExactly(seen.devicesByIndex().get(0), new Device(1, null, List.of()))),
            row("no device whose entry is there", machine -> machine.devices())
                    .problem("STATE_INCOMPLETE: devices.json describes no device although environments are active")
                    .missing(ATTACHMENTS),
            row("a running kernel", machine -> {
                        machine.process(51, ALICE).arguments("python", "-f", "/run/kernel-k.json");
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""), env("b", ALICE, "alice", "", "\"l\""));
                    })
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("a kernel that does not run", machine -> machine.envs(env("a", ALICE, "alice", "", "\"k\"")))
                    .check(seen -> assertThat(seen.environments()).isEmpty()),
            row("arguments that do not answer", machine -> {
                        machine.process(51, ALICE).hang("cmdline");
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""));
                    })
                    .problem(KERNELS + "reading its arguments hangs")
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("arguments of several processes that do not answer", machine -> {
                        machine.process(51, ALICE).hang("cmdline");
                        machine.process(900, ALICE).hang("cmdline");
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""));
                    })
                    .problem(KERNELS + "reading its arguments hangs (and 1 more)")
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("unreadable arguments", machine -> {
                        var arguments = machine.process(51, ALICE).file("cmdline");
                        Files.delete(arguments);
                        Files.createDirectory(arguments);
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""));
                    })
                    .thenUnchanged(1)
                    .problem(KERNELS + "its arguments cannot be read: Is a directory")
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("unreadable arguments of a process whose user is unknown", machine -> {
                        var process = machine.process(51, ALICE);
                        Files.writeString(process.file("status"), "Name:\tpython\nUid:\tnobody\n");
                        Files.delete(process.file("cmdline"));
                        Files.createDirectory(process.file("cmdline"));
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""));
                    })
                    .thenUnchanged(1)
                    .problem(KERNELS.replace(" of uid 1003", "") + "its arguments cannot be read: Is a directory")
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("a process of which nothing can be read, as with hidepid=1, and a running kernel", machine -> {
                        machine.process(51, ALICE).arguments("python", "-f", "/run/kernel-k.json");
                        var hidden = machine.process(900, BOB);
                        for (var name : List.of("stat", "status", "cmdline")) {
                            var file = hidden.file(name);
                            Files.delete(file);
                            Files.createDirectory(file);
                        }
                        machine.envs(env("a", ALICE, "alice", "", "\"k\""));
                    })
                    .check(seen -> assertThat(seen.environments()).hasSize(1)),
            row("a listed process of which nothing can be read, as with hidepid=1", machine -> {
                        var hidden = machine.process(900, BOB);
                        for (var name : List.of("stat", "status", "cmdline")) {
                            var file = hidden.file(name);
                            Files.delete(file);
                            Files.createDirectory(file);
                        }
                        machine.process(51, ALICE);
                        machine.envs(env("a", ALICE, "alice", "51"), env("b", BOB, "bob", "900"));
                    })
                    .check(seen -> {
                        assertThat(seen.environments()).hasSize(2);
                        assertThat(seen.environments())
                                .extracting(
                                        environment -> environment.ownership().uids())
                                .containsExactly(Set.of(ALICE), Set.of());
                        assertThat(seen.environments())
                                .extracting(
                                        environment -> environment.ownership().areUidsKnown())
                                .containsExactly(true, false);
                    }),
            row("a file lease on envs.json", machine -> {
                        machine.open.add(RealFlock.takeLease(machine.state.resolve("envs.json")));
                    })
                    .problem("STATE_UNREADABLE: envs.json: Resource temporarily unavailable")
                    .missing(ENVIRONMENTS),
            row("a link in place of the state directory", machine -> {
                        var elsewhere = Files.move(machine.state, machine.state.resolveSibling("elsewhere"));
                        Files.createSymbolicLink(machine.state, elsewhere);
                    })
                    .problem("STATE_UNREADABLE: STATE: is a symbolic link")
                    .missing(ENVIRONMENTS, ATTACHMENTS),
            row("a file in place of the state directory", machine -> {
                        Files.move(machine.state, machine.state.resolveSibling("elsewhere"));
                        Files.createFile(machine.state);
                    })
                    .problem("STATE_UNREADABLE: STATE: is not a directory")
                    .missing(ENVIRONMENTS, ATTACHMENTS),
            row("another state directory", _ -> {})
                    .then(machine -> {
                        Files.move(machine.state, machine.state.resolveSibling("before"));
                        Files.createDirectory(machine.state);
                        machine.envs(env("a", ALICE, "alice", "812"));
                        machine.devices(device(0, "a"), device(1));
                    })
                    .problem("STATE_DIRECTORY_REPLACED: STATE is another directory than at the previous observation:"
                            + " the state in that one is not read"),
            row("a directory in place of genv's lock", machine -> {
                        Files.createDirectory(machine.state.resolve("genv.lock"));
                    })
                    .problem("LOCK_UNUSABLE: genv.lock is not a regular file" + WITHOUT_LOCK),
            row("a link in place of genv's lock", machine -> {
                        Files.createSymbolicLink(machine.state.resolve("genv.lock"), Path.of("/etc/passwd"));
                    })
                    .problem("LOCK_UNUSABLE: genv.lock is a symbolic link" + WITHOUT_LOCK),
            row("genv's lock held by a process", machine -> machine.holdLock(900, ALICE))
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900"
                            + " (python) of uid 1003"
                            + WITHOUT_LOCK),
            row("genv's lock held by a process whose user is unknown", machine -> {
                        machine.holdLock(900, ALICE);
                        Files.writeString(machine.process(900, ALICE).file("status"), "Name:\tpython\nUid:\tnobody\n");
                    })
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900"
                            + " (python), whose user cannot be read"
                            + WITHOUT_LOCK),
            row("genv's lock held by a process that has exited", machine -> {
                        machine.holdLock(900, ALICE);
                        machine.noProcess(900);
                    })
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900,"
                            + " which has exited; a child of it may still hold the lock"
                            + WITHOUT_LOCK),
            row("genv's lock held by a process whose stat does not answer", machine -> {
                        machine.holdLock(900, ALICE);
                        machine.process(900, ALICE).hang("stat");
                    })
                    .problem("LOCK_TIMEOUT: genv.lock is held by another program, for longer than 250 ms: process 900"
                            + " of uid 1003"
                            + WITHOUT_LOCK),
            row("a file lease on genv's lock", machine -> {
                        machine.open.add(RealFlock.takeLease(Files.createFile(machine.state.resolve("genv.lock"))));
                    })
                    .problem("LOCK_UNUSABLE: genv.lock " + LEASED + WITHOUT_LOCK),
            userMount("a file system of a user over the state directory", "x"),
            userMount("a file system of a user without a source", ""));

    private StateRows() {}

    private static FactRow userMount(String name, String source) {
        return row(name, machine -> {
                    machine.proc.mounts(
                            "self",
                            "22 1 254:0 / / rw - ext4 /dev/root rw",
                            "63 22 0:39 / %s rw - fuse.x %s rw,user_id=1003".formatted(machine.state, source));
                })
                .problem("STATE_USER_MOUNT: STATE is not read: user 1003 has mounted a file system of the type fuse.x"
                        + " on STATE: unmount it (umount -l) and terminate the process that serves it")
                .missing(ENVIRONMENTS, ATTACHMENTS);
    }
}
