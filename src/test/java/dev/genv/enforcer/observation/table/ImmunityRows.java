package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.model.SnapshotPart.EXEMPT_USERS;
import static dev.genv.enforcer.model.SnapshotPart.PROCESSES;
import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;

/** Immune processes, accounts and privileges. */
final class ImmunityRows {
    private static final String SERVER = "/opt/server";
    private static final String MPS_SERVER = "/usr/bin/nvidia-cuda-mps-server";
    private static final String CONTROL = "/usr/bin/nvidia-cuda-mps-control";
    private static final String PERHAPS_MPS =
            "it is unknown whether root's " + CONTROL + " started it, and it runs " + MPS_SERVER;
    private static final String CORRECT = "; correct it, or remove it from GENV_ENFORCER_PROTECTED_EXECUTABLES";

    static final List<FactRow> ROWS = List.of(
            row("a protected program", ImmunityRows::runServer).check(isProtected("it runs /opt/server")),
            row("a program with the name of a protected one", machine -> {
                        machine.protect(SERVER, "alice");
                        machine.runs(812, machine.program("/home/server"));
                    })
                    .check(ImmunityRows::isNotImmune),
            row("a protected program that is replaced while it runs", ImmunityRows::runServer)
                    .then(machine -> machine.runs(812, machine.replace(SERVER)))
                    .check(isProtected("it runs /opt/server")),
            row("a replaced program that belongs to a user by now", ImmunityRows::runServer)
                    .then(machine -> {
                        var old = machine.replace(SERVER);
                        Files.setAttribute(old, "unix:uid", (int) ALICE);
                        machine.runs(812, old);
                    })
                    .check(ImmunityRows::isNotImmune),
            row("a replaced program that others can write by now", ImmunityRows::runServer)
                    .then(machine -> {
                        var old = machine.replace(SERVER);
                        Files.setAttribute(old, "unix:mode", 0666);
                        machine.runs(812, old);
                    })
                    .check(ImmunityRows::isNotImmune),
            row("a program that cannot be reached", machine -> {
                        machine.protect(SERVER, "alice");
                        machine.runs(812, Path.of("/no/such/server"));
                    })
                    .check(ImmunityRows::isNotImmune),
            row("an unknown program", machine -> {
                        machine.protect(SERVER, "alice");
                        Files.delete(machine.proc.root().resolve("812/exe"));
                    })
                    .problem(
                            "IMMUNITY_UNKNOWN: process 812 is not terminated: it is unknown whether it runs a protected"
                                    + " program: No such file or directory")
                    .check(isPerhapsProtected(
                            "it is unknown whether it runs a protected program: No such file or directory")),
            row("a protected program of a process whose first thread has exited", machine -> {
                        var process = machine.process(812, ALICE, "GENV_ENVIRONMENT_ID=a")
                                .threads(2)
                                .state('Z')
                                .withoutProgram();
                        process.thread(812).state('Z');
                        process.thread(813)
                                .exe(machine.protect(SERVER, "alice"))
                                .environ("GENV_ENVIRONMENT_ID=a");
                    })
                    .check(isProtected("it runs /opt/server")),
            row("another program of a process whose first thread has exited", machine -> {
                        machine.protect(SERVER, "alice");
                        var process = machine.process(812, ALICE, "GENV_ENVIRONMENT_ID=a")
                                .threads(2)
                                .state('Z')
                                .withoutProgram();
                        process.thread(813).exe(machine.program("/opt/other")).environ("GENV_ENVIRONMENT_ID=a");
                    })
                    .check(ImmunityRows::isNotImmune),
            // The kernel does not tell a name of more than 4096 bytes, and users can make one; here there is no link at
            // all.
            row("a protected program whose name the kernel does not tell", machine -> {
                        var program = machine.protect(SERVER, "alice");
                        Files.createLink(
                                machine.process(812, ALICE, "GENV_ENVIRONMENT_ID=a")
                                        .withoutProgram()
                                        .file("exe"),
                                program);
                    })
                    .check(isProtected("it runs /opt/server")),
            row("an MPS server that root's control started", machine -> runMpsServer(machine, 0, CONTROL))
                    .check(isProtected("it runs " + MPS_SERVER)),
            row("an MPS server that a user started, for example with LD_PRELOAD", machine -> {
                        runMpsServer(machine, ALICE, "/usr/bin/bash");
                    })
                    .check(ImmunityRows::isNotImmune),
            row("an MPS server that a user's control started", machine -> runMpsServer(machine, ALICE, CONTROL))
                    .check(ImmunityRows::isNotImmune),
            row("an MPS server that root's sudo started", machine -> runMpsServer(machine, 0, "/usr/bin/sudo"))
                    .check(ImmunityRows::isNotImmune),
            row("an MPS server whose parent's program cannot be read", machine -> {
                        runMpsServer(machine, 0, CONTROL);
                        Files.delete(machine.proc.root().resolve("700/exe"));
                    })
                    .problem("IMMUNITY_UNKNOWN: process 812 is not terminated: " + PERHAPS_MPS)
                    .check(isPerhapsProtected(PERHAPS_MPS)),
            row("an MPS server whose parent's uid cannot be read", machine -> {
                        runMpsServer(machine, 0, CONTROL);
                        Files.writeString(machine.proc.root().resolve("700/status"), "Uid:\t?\n");
                    })
                    .problem("IMMUNITY_UNKNOWN: process 812 is not terminated: " + PERHAPS_MPS)
                    .check(isPerhapsProtected(PERHAPS_MPS)),
            row("an MPS server of root with any parent", machine -> {
                        runMpsServer(machine, 0, "/usr/bin/bash");
                        machine.proc
                                .process(812)
                                .uid(0)
                                .environ("GENV_ENVIRONMENT_ID=a")
                                .parent(700);
                    })
                    .check(isProtected("it runs " + MPS_SERVER)),
            row("an MPS server that the setting protects for all users", machine -> {
                        machine.programs.add(new ProtectedExecutable(Path.of(MPS_SERVER), "*"));
                        runMpsServer(machine, ALICE, "/usr/bin/bash");
                    })
                    .check(isProtected("it runs " + MPS_SERVER)),
            row(
                            "a protected program that does not exist",
                            machine -> machine.programs.add(new ProtectedExecutable(Path.of(SERVER), "0")))
                    .problem("PROTECTED_UNUSABLE: /opt/server protects no process (it must be a file of root that no"
                            + " other user can write): there is no such file on this host"
                            + CORRECT),
            row("a protected program that is a directory", machine -> {
                        Files.createDirectories(machine.proc.hostRoot().resolve("opt/server"));
                        machine.programs.add(new ProtectedExecutable(Path.of(SERVER), "0"));
                    })
                    .problem("PROTECTED_UNUSABLE: /opt/server protects no process (it must be a file of root that no"
                            + " other user can write): it is not a file"
                            + CORRECT),
            row("a protected program in a loop of links", machine -> {
                        Files.createSymbolicLink(machine.proc.hostRoot().resolve("loop"), Path.of("loop"));
                        machine.programs.add(new ProtectedExecutable(Path.of("/loop"), "alice"));
                        machine.runs(812, machine.program("/opt/other"));
                    })
                    .problem("PROTECTED_UNUSABLE: /loop cannot be examined, so no process that may run it is"
                            + " terminated: Too many levels of symbolic links"
                            + CORRECT)
                    .problem("IMMUNITY_UNKNOWN: process 812 is not terminated: it is unknown whether it runs /loop")
                    .check(isPerhapsProtected("it is unknown whether it runs /loop")),
            row("a protected program of an unknown user", machine -> machine.protect(SERVER, "eve"))
                    .problem(
                            "SETTING_USER_UNKNOWN: user eve of GENV_ENFORCER_PROTECTED_EXECUTABLES is the name of no account"
                                    + " that is known of this host, so nothing is done to processes and environments that may be"
                                    + " this user's: give the uid instead, with a plus sign such as +1003")
                    .missing(EXEMPT_USERS),
            row("an exempt user whom only the name service knows", machine -> {
                        machine.nameService();
                        machine.exempt.add(DescribedMachine.NAMED);
                        machine.process(812, DescribedMachine.NAMED_UID, "GENV_ENVIRONMENT_ID=a");
                    })
                    .check(seen -> assertThat(immunity(seen).kind()).isEqualTo(Immunity.Kind.EXEMPT)),
            row("an exempt number that only the name service knows as a uid", machine -> {
                        machine.nameService();
                        machine.exempt.add(Long.toString(DescribedMachine.NAMED_UID));
                        machine.process(812, DescribedMachine.NAMED_UID, "GENV_ENVIRONMENT_ID=a");
                    })
                    .check(seen -> assertThat(immunity(seen).kind()).isEqualTo(Immunity.Kind.EXEMPT)),
            row(
                            "an exempt user whom the name service does not find, and a process that may be this user's",
                            machine -> {
                                machine.nameService();
                                machine.exempt.add("no.such-user@corp");
                                machine.process(812, 70_011, "GENV_ENVIRONMENT_ID=a");
                                machine.envs(env("a", 70_011, "no.such-user", "812"));
                            })
                    .problem(
                            "SETTING_USER_UNKNOWN: user no.such-user@corp of GENV_ENFORCER_EXEMPT_USERS is the name of no account"
                                    + " that is known of this host, so nothing is done to processes and environments that may be"
                                    + " this user's: give the uid instead, with a plus sign such as +1003")
                    .missing(EXEMPT_USERS)
                    .check(seen -> assertThat(immunity(seen).kind()).isEqualTo(Immunity.Kind.PERHAPS_EXEMPT)),
            row("an exempt number without an account", machine -> {
                        machine.nameService();
                        machine.exempt.add("70011");
                        machine.process(812, 70_011, "GENV_ENVIRONMENT_ID=a");
                        machine.envs(env("a", 70_011, "no.such-user", "812"));
                    })
                    .problem("SETTING_USER_UNKNOWN: user 70011 of GENV_ENFORCER_EXEMPT_USERS is the name of no account"
                            + " that is known of this host, so nothing is done to processes and environments that may be"
                            + " this user's: give the uid instead, with a plus sign such as +1003")
                    .missing(EXEMPT_USERS)
                    .check(seen -> assertThat(immunity(seen).kind()).isEqualTo(Immunity.Kind.PERHAPS_EXEMPT)),
            row(
                            "an exempt number that is the uid of an account in the file, and perhaps the name of another",
                            machine -> {
                                machine.nameService();
                                machine.passwd("eve:x:%d:1:::\n".formatted(DescribedMachine.NAMED_UID));
                                machine.exempt.add(Long.toString(DescribedMachine.NAMED_UID));
                                machine.process(812, 70_011, "GENV_ENVIRONMENT_ID=a");
                                machine.envs(env("a", 70_011, "no.such-user", "812"));
                            })
                    .problem("SETTING_USER_UNKNOWN: user %d of GENV_ENFORCER_EXEMPT_USERS is the name of no account"
                                    .formatted(DescribedMachine.NAMED_UID)
                            + " that is known of this host, so nothing is done to processes and environments that may be"
                            + " this user's: give the uid instead, with a plus sign such as +1003")
                    .missing(EXEMPT_USERS)
                    .check(seen -> assertThat(immunity(seen).kind()).isEqualTo(Immunity.Kind.PERHAPS_EXEMPT)),
            row("a kernel thread", machine -> machine.process(812, 0).kernelThread())
                    .problem("MEMBERSHIP_UNKNOWN: process 812 is not checked: its environ is not available at this"
                            + " moment")
                    .check(isProtected("it is a kernel thread")),
            row("the service itself", machine -> {
                        var own = (int) ProcessHandle.current().pid();
                        machine.process(own, ALICE, "GENV_ENVIRONMENT_ID=a");
                        machine.listProcesses("GPU-0, %d, 5\n".formatted(own), 0);
                    })
                    .check(isProtected("it is genv-enforcer itself"))
                    .agentDiffers(
                            "On another machine only the agent itself is immune, whose pid is known when it runs.",
                            ImmunityRows::isNotImmune),
            row("no capabilities", machine -> machine.access(0, 4026531836L, ""))
                    .problem("MISSING_PRIVILEGE: SYS_PTRACE: the environment variables of other users' processes cannot"
                            + " be read: run as root with --cap-add SYS_PTRACE")
                    .problem("MISSING_PRIVILEGE: DAC_READ_SEARCH: the environment variables of other users' processes"
                            + " cannot be read: run as root with --cap-add DAC_READ_SEARCH")
                    .problem("MISSING_PRIVILEGE: KILL: processes of other users cannot be signalled: run as root with"
                            + " --cap-add KILL"),
            row("another PID namespace", machine -> {
                        machine.requireHostPid = true;
                        machine.access(-1, 4026532281L, "");
                    })
                    .problem("MISSING_PRIVILEGE: HOST_PID: this is not the host's PID namespace, so the pids of GPU"
                            + " processes refer to other processes here: run with --pid=host")
                    .missing(PROCESSES)
                    .check(seen -> assertThat(seen.details().readOnlyReason())
                            .isEqualTo("this is not the host's PID namespace: run with --pid=host")));

    private ImmunityRows() {}

    private static void runServer(DescribedMachine machine) throws IOException {
        machine.runs(812, machine.protect(SERVER, "alice"));
    }

    /** Has process 812 of alice run the MPS server as a child of process 700, which runs this program. */
    private static void runMpsServer(DescribedMachine machine, long parentUid, String parent) throws IOException {
        machine.program(CONTROL);
        machine.process(812, ALICE, "GENV_ENVIRONMENT_ID=a").parent(700);
        machine.runs(812, machine.program(MPS_SERVER));
        machine.process(700, parentUid);
        machine.runs(700, machine.program(parent));
    }

    private static Immunity immunity(Snapshot observation) {
        var immunity = observation.processes().getFirst().immunity();
        assertThat(immunity).isNotNull();
        return immunity;
    }

    private static Consumer<Snapshot> isProtected(String reason) {
        return seen -> assertThat(immunity(seen)).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, reason));
    }

    private static Consumer<Snapshot> isPerhapsProtected(String reason) {
        return seen -> assertThat(immunity(seen)).isEqualTo(new Immunity(Immunity.Kind.PROTECTED, reason, false));
    }

    private static void isNotImmune(Snapshot seen) {
        assertThat(seen.processes().getFirst().immunity()).isNull();
    }
}
