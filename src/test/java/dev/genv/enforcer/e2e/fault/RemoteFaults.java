package dev.genv.enforcer.e2e.fault;

import dev.genv.enforcer.e2e.SshFleet;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.util.List;

/** The faults that one machine of a fleet can cause. */
final class RemoteFaults {
    private static final String LOST = "connection_lost";

    /** The text imitates the program's own lines. */
    private static final String BANNER = "echo 'Welcome to gpu-1'; echo '@0 {} 0'; echo '{}'; echo oops >&2";

    private RemoteFaults() {}

    /** Faults of the connection. */
    static List<Fault<FaultyFleet>> ofConnections() {
        Fault<FaultyFleet> restart = Fault.harmless("restarts its sshd", RemoteFaults::restart, _ -> {});
        return List.of(
                unreachable(
                                "is down",
                                fleet -> fleet.machine.stop(),
                                fleet -> fleet.machine.start(),
                                "host_unreachable")
                        .mayAlsoReport("busy", LOST, "unreachable", "timeout"),
                restart.mayAlsoReport(LOST, "host_unreachable"),
                unreachable(
                                "freezes",
                                fleet -> fleet.machine.freeze(),
                                fleet -> fleet.machine.thaw(),
                                "connect_timeout")
                        .mayAlsoReport("busy", LOST, "unreachable", "timeout"));
    }

    /** Faults of the login and of sudo. */
    static List<Fault<FaultyFleet>> ofLogins() {
        return List.of(
                unreachable(
                                "has another host key than the known one",
                                fleet -> {
                                    fleet.machine.newHostKey();
                                    restart(fleet);
                                },
                                fleet -> fleet.hosts().writeKnownHosts(),
                                "host_key_changed")
                        .mayAlsoReport(LOST, "host_unreachable"),
                unreachable(
                        "requires a password for sudo",
                        atLogin(fleet -> fleet.machine.sudoers(RealSshd.ADMIN + " ALL=(ALL) ALL")),
                        fleet -> fleet.machine.sudoers(SshFleet.SUDOERS),
                        "sudo_refused"));
    }

    /** Faults of the login shell. */
    static List<Fault<FaultyFleet>> ofCommands() {
        Fault<FaultyFleet> banner = Fault.harmless(
                "prints a banner before every command",
                atLogin(fleet -> fleet.machine.setLoginShell(BANNER)),
                RemoteFaults::repairShell);
        return List.of(
                shellFault("closes the connection during every command", "kill -9 $PPID", LOST)
                        .mayAlsoReport("busy"),
                shellFault("prints without end", "exec cat /dev/zero", "answer_too_long")
                        .mayAlsoReport("busy", LOST, "unreachable", "timeout"),
                banner.mayAlsoReport(LOST));
    }

    private static Fault<FaultyFleet> unreachable(
            String name, Fault.Step<FaultyFleet> inject, Fault.Step<FaultyFleet> undo, String reported) {
        return Fault.unreachable(name, inject, undo, reported).mayAlsoReport(LOST);
    }

    private static Fault<FaultyFleet> shellFault(String name, String shell, String reported) {
        return Fault.unreachable(
                name, atLogin(fleet -> fleet.machine.setLoginShell(shell)), RemoteFaults::repairShell, reported);
    }

    private static void repairShell(FaultyFleet fleet) throws Exception {
        fleet.machine.setLoginShell("");
    }

    private static void restart(FaultyFleet fleet) throws Exception {
        fleet.machine.stop();
        fleet.machine.start();
    }

    /** The agent keeps running as long as its connection, so that a fault of the login shows at the next one. */
    private static Fault.Step<FaultyFleet> atLogin(Fault.Step<FaultyFleet> fault) {
        return fleet -> {
            fault.run(fleet);
            fleet.machine.cutConnections();
        };
    }
}
