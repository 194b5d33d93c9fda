package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.EVERY_PROCESS;
import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.BOB;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Sha256;
import dev.genv.enforcer.model.Snapshot;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.function.Consumer;

/** The processes that the GPU tool lists. */
final class ProcessRows {
    private static final String NO_FILE = "No such file or directory";
    private static final String ID = "GENV_ENVIRONMENT_ID=";

    static final List<FactRow> ROWS = List.of(
            row("several ids", machine -> machine.process(812, ALICE, ID + "b", ID + "c"))
                    .check(membership(new Membership.InEnvironment("c"))),
            row("no id", machine -> {
                        machine.process(812, ALICE, "HOME=/");
                        machine.process(900, ALICE);
                        machine.envs(env("a", ALICE, "alice", "900"));
                    })
                    .check(membership(new Membership.Outside())),
            row("an empty id", machine -> {
                        machine.process(812, ALICE, ID);
                        machine.process(900, ALICE);
                        machine.envs(env("a", ALICE, "alice", "900"));
                    })
                    .check(membership(new Membership.Outside())),
            row("an id that is not UTF-8", machine -> {
                        byte[] id = {'x', (byte) 0xff};
                        machine.process(812, ALICE).environ(environ(id));
                    })
                    .check(membership(new Membership.InEnvironment("not-utf-8:78ff"))),
            row("an id that is too long", machine -> {
                        var id = "i".repeat(5000).getBytes(StandardCharsets.US_ASCII);
                        machine.process(812, ALICE).environ(environ(id));
                    })
                    .check(membership(new Membership.InEnvironment("too-long:" + "i".repeat(32) + ":"
                            + Sha256.hex("i".repeat(5000).getBytes(StandardCharsets.US_ASCII))))),
            row("an unreadable environ", machine -> {
                        var environ = machine.process(812, ALICE).file("environ");
                        Files.delete(environ);
                        Files.createDirectory(environ);
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ cannot be read: Is a"
                            + " directory"),
            row(
                            "an environ that does not answer",
                            machine -> machine.process(812, ALICE).hang("environ"))
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ does not answer"),
            row(
                            "no environ",
                            machine -> Files.delete(machine.process(812, ALICE).file("environ")))
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ cannot be read: " + NO_FILE),
            row("a process in execve", machine -> machine.process(812, ALICE).withoutEnvironment())
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ is not available at this"
                            + " moment"),
            row("an unreadable uid", machine -> {
                        var status = machine.process(812, ALICE, ID + "a").file("status");
                        Files.writeString(status, "Name:\tpython\nUid:\tnobody\n");
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its real uid cannot be read"),
            row(
                            "an unreadable stat",
                            machine -> Files.writeString(
                                    machine.process(812, ALICE, ID + "a").file("stat"), "nonsense"))
                    .problem("PROCESS_UNREADABLE: process 812: its stat is unknown")
                    .missing(EVERY_PROCESS),
            row("a stat that does not answer, as during an execve that does not end", machine -> {
                        machine.process(812, ALICE, ID + "a").hang("stat");
                        machine.process(813, BOB, ID + "b");
                        machine.listProcesses("GPU-0, 812, 1542\nGPU-1, 813, 1542\n", 0);
                    })
                    .problem("PROCESS_UNREADABLE: process 812: it does not answer")
                    .missing(EVERY_PROCESS)
                    .check(seen -> assertThat(seen.processes()).singleElement().satisfies(other -> {
                        assertThat(other.pid()).isEqualTo(813);
                        assertThat(other.membership()).isEqualTo(new Membership.InEnvironment("b"));
                    })),
            row("a zombie", machine -> machine.process(812, ALICE, ID + "a").state('Z'))
                    .check(seen -> {
                        assertThat(seen.processes()).isEmpty();
                        assertThat(seen.environments()).hasSize(1);
                    }),
            row("a process that has exited", machine -> machine.noProcess(812)).check(seen -> {
                assertThat(seen.processes()).isEmpty();
                assertThat(seen.environments()).isEmpty();
            }),
            row("a first thread that has exited", machine -> {
                        var process =
                                machine.process(812, ALICE, ID + "a").threads(2).state('Z');
                        process.thread(813).environ(ID + "b");
                    })
                    .check(membership(new Membership.InEnvironment("b"))),
            row("a first thread that has exited, and an environ that another thread overwrote", machine -> {
                        var process =
                                machine.process(812, ALICE, ID + "a").threads(2).state('Z');
                        process.thread(813)
                                .environ("HOME=/home/alice", "LANG=C")
                                .overwrite((ID + "title=12345\0").getBytes(StandardCharsets.US_ASCII));
                        machine.process(900, ALICE);
                        machine.envs(env("a", ALICE, "alice", "900"));
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: it has overwritten its environ, and"
                            + " no ancestor shows to which environment it belongs"),
            row("threads that have all exited, before the process has", machine -> {
                        var process = machine.process(812, ALICE).threads(3).state('Z');
                        process.thread(813).state('Z');
                        process.thread(814).withoutEnvironment();
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ cannot be read: " + NO_FILE),
            row("a first thread that has exited, and other threads that may not be traced", machine -> {
                        var process =
                                machine.process(812, ALICE, ID + "a").threads(2).state('Z');
                        process.thread(813).environ(ID + "b").denyTrace();
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: not permitted to read its environment"),
            row("an environ that can be read, and a process that may not be traced", machine -> {
                        machine.process(812, ALICE, ID + "b").denyTrace();
                        machine.overwrittenIsOutside = true;
                    })
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: not permitted to read its environment"),
            row(
                            "a process that was started after the listing",
                            machine -> machine.process(812, ALICE, ID + "a").startTime(4_000_000_000_000L))
                    .check(seen -> assertThat(seen.processes()).isEmpty()),
            row(
                            "a name with parentheses",
                            machine -> machine.process(812, ALICE, ID + "a").command("a) S (b"))
                    .check(seen -> assertThat(process(seen).command()).isEqualTo("a) S (b")));

    private ProcessRows() {}

    private static byte[] environ(byte[] id) {
        var variable = ID.getBytes(StandardCharsets.US_ASCII);
        var all = new byte[variable.length + id.length + 1];
        System.arraycopy(variable, 0, all, 0, variable.length);
        System.arraycopy(id, 0, all, variable.length, id.length);
        return all;
    }

    private static GpuProcess process(Snapshot observation) {
        return observation.processes().getFirst();
    }

    private static Consumer<Snapshot> membership(Membership expected) {
        return seen -> assertThat(process(seen).membership()).isEqualTo(expected);
    }
}
