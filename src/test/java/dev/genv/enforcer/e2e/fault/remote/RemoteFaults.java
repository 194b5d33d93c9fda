package dev.genv.enforcer.e2e.fault.remote;

import static dev.genv.enforcer.e2e.fault.remote.RemoteFault.harmless;
import static dev.genv.enforcer.e2e.fault.remote.RemoteFault.preventingTermination;
import static dev.genv.enforcer.e2e.fault.remote.RemoteFault.unreachable;

import dev.genv.enforcer.e2e.SshFleet;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The faults that one machine of a fleet can cause. */
final class RemoteFaults {
    private static final String[] TIMEOUT_CODES = {"busy", "connection_lost", "unreachable", "timeout"};
    private static final Path PYTHON = Path.of("/usr/bin/python3");
    private static final RemoteFault.Step NO_STEP = _ -> {};

    private Closeable helper = () -> {};

    private RemoteFaults() {}

    /** Faults of the connection. */
    static List<RemoteFault> ofConnections() {
        var faults = new RemoteFaults();
        return List.of(
                unreachable(
                                "is down",
                                fleet -> fleet.faultyHost().stop(),
                                fleet -> fleet.faultyHost().start(),
                                "host_unreachable")
                        .mayAlsoReport(TIMEOUT_CODES),
                harmless(
                                "restarts its sshd",
                                fleet -> {
                                    fleet.faultyHost().stop();
                                    fleet.faultyHost().start();
                                },
                                NO_STEP)
                        .mayAlsoReport("connection_lost", "host_unreachable"),
                unreachable(
                                "freezes",
                                fleet -> fleet.faultyHost().freeze(),
                                fleet -> fleet.faultyHost().thaw(),
                                "connect_timeout")
                        .mayAlsoReport(TIMEOUT_CODES),
                unreachable(
                                "accepts connections and sends nothing",
                                faults::startSilentServer,
                                fleet -> {
                                    faults.helper.close();
                                    fleet.faultyHost().start();
                                },
                                "connect_timeout")
                        .mayAlsoReport("busy", "connection_lost", "unreachable", "host_unreachable"),
                unreachable(
                                "has another host key than the known one",
                                fleet -> {
                                    fleet.faultyHost().newHostKey();
                                    fleet.faultyHost().stop();
                                    fleet.faultyHost().start();
                                },
                                fleet -> fleet.hosts().writeKnownHosts(),
                                "host_key_changed")
                        .mayAlsoReport("connection_lost", "host_unreachable"),
                unreachable(
                                "has an unknown host key",
                                fleet -> {
                                    fleet.hosts().removeFromKnownHosts(fleet.faultyHost());
                                    fleet.faultyHost().cutConnections();
                                },
                                fleet -> fleet.hosts().writeKnownHosts(),
                                "host_key_unknown")
                        .mayAlsoReport("connection_lost"),
                unreachable(
                                "refuses the key",
                                fleet -> {
                                    fleet.faultyHost().refuseKey();
                                    fleet.faultyHost().cutConnections();
                                },
                                fleet -> fleet.faultyHost().acceptKey(),
                                "authentication_failed")
                        .mayAlsoReport("connection_lost"),
                loginShellFault("closes the connection during every command", "kill -9 $PPID", "connection_lost")
                        .mayAlsoReport("busy"));
    }

    /** Faults of commands that never end. */
    static List<RemoteFault> ofEndlessCommands() {
        return List.of(
                harmless("is slow", loginShell("sleep 2"), repairShell()).mayAlsoReport("connection_lost"),
                loginShellFault("hangs after the login", "exec sleep 3600", "timeout")
                        .mayAlsoReport("busy", "unreachable"),
                loginShellFault("prints without end", "exec cat /dev/zero", "answer_too_long")
                        .mayAlsoReport("busy", "unreachable", "timeout"),
                loginShellFault("writes to stderr without end", "exec cat /dev/zero >&2", "answer_too_long")
                        .mayAlsoReport("busy", "unreachable", "timeout"),
                loginShellFault("prints one line every 0.5 s", "while echo; do sleep 0.5; done", "timeout")
                        .mayAlsoReport("busy", "unreachable"));
    }

    /** Other faults after the login. */
    static List<RemoteFault> ofCommands() {
        return List.of(
                loginShellFault(
                        "answers with random bytes", "head -c 100000 /dev/urandom; exit 0", "answer_unreadable"),
                loginShellFault("answers with no output", "exit 0", "answer_unreadable"),
                harmless("prints a banner before every command", loginShell(BANNER), repairShell())
                        .mayAlsoReport("connection_lost"),
                harmless(
                                "has a `.bashrc` that prints",
                                atLogin(fleet -> fleet.faultyHost().writeBashrc(RealSshd.ADMIN, BANNER)),
                                fleet -> fleet.faultyHost().writeBashrc(RealSshd.ADMIN, ""))
                        .mayAlsoReport("connection_lost"),
                unreachable(
                                "requires a password for sudo",
                                atLogin(fleet -> fleet.faultyHost().sudoers(RealSshd.ADMIN + " ALL=(ALL) ALL")),
                                RemoteFaults::allowSudo,
                                "sudo_refused")
                        .mayAlsoReport("connection_lost"),
                unreachable(
                                "allows no sudo",
                                atLogin(fleet -> fleet.faultyHost().sudoers("# nobody\n")),
                                RemoteFaults::allowSudo,
                                "sudo_refused")
                        .mayAlsoReport("connection_lost"),
                unreachable(
                                "has no sudo",
                                atLogin(fleet -> fleet.faultyHost().writeBashrc(RealSshd.ADMIN, "PATH=/nowhere\n")),
                                fleet -> fleet.faultyHost().writeBashrc(RealSshd.ADMIN, ""),
                                "sudo_missing")
                        .mayAlsoReport("connection_lost"),
                unreachable(
                                "has no Python",
                                atLogin(fleet -> fleet.faultyHost().hideProgram(PYTHON)),
                                fleet -> fleet.faultyHost().showProgram(PYTHON),
                                "agent_missing")
                        .mayAlsoReport("connection_lost"),
                // It recovers a minute later, because the service waits before it uses a killed program again.
                nvidiaSmiFault(
                        "has an nvidia-smi that hangs and ignores signals",
                        "trap '' TERM HUP INT; while :; do sleep 1; done",
                        "gpu_tool_failed"));
    }

    /** Faults of the observed files and programs. */
    static List<RemoteFault> ofMachines() {
        var faults = new RemoteFaults();
        return List.of(
                preventingTermination(
                        "has no nvidia-smi",
                        fleet -> Files.move(fleet.faultyHost().gpus().path(), movedNvidiaSmi(fleet)),
                        fleet -> Files.move(
                                movedNvidiaSmi(fleet), fleet.faultyHost().gpus().path()),
                        "gpu_tool_failed"),
                nvidiaSmiFault("has no driver", "exit 9", "gpu_tool_failed"),
                nvidiaSmiFault("has an nvidia-smi that hangs", "exec sleep 3600", "gpu_tool_failed"),
                nvidiaSmiFault("has an nvidia-smi that prints without end", "exec cat /dev/zero", "gpu_tool_failed"),
                nvidiaSmiFault(
                        "has lost a GPU",
                        "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 15",
                        "gpu_lost"),
                preventingTermination(
                        "has an `envs.json` that is not JSON",
                        fleet -> Files.writeString(envsJson(fleet), "garbage"),
                        fleet -> fleet.faultyHost().state().write(),
                        "membership_unknown",
                        "state_unreadable"),
                preventingTermination(
                        "has a symbolic link as `envs.json`",
                        fleet -> {
                            Files.delete(envsJson(fleet));
                            Files.createSymbolicLink(envsJson(fleet), Path.of("/etc/passwd"));
                        },
                        fleet -> fleet.faultyHost().state().write(),
                        "membership_unknown",
                        "state_unreadable"),
                harmless(
                        "has a `genv.lock` that is held for ever",
                        faults::holdLock,
                        _ -> faults.helper.close(),
                        "lock_timeout"));
    }

    /** The text imitates the program's own lines. */
    private static final String BANNER = "echo 'Welcome to gpu-1'; echo '@0 {} 0'; echo '{}'; echo oops >&2";

    private static RemoteFault loginShellFault(String name, String fault, String reported) {
        return unreachable(name, loginShell(fault), repairShell(), reported).mayAlsoReport("connection_lost");
    }

    private static RemoteFault.Step loginShell(String lines) {
        return atLogin(fleet -> fleet.faultyHost().setLoginShell(lines));
    }

    /** The agent keeps running as long as its connection, so that a fault of the login shows at the next one. */
    private static RemoteFault.Step atLogin(RemoteFault.Step fault) {
        return fleet -> {
            fault.run(fleet);
            fleet.faultyHost().cutConnections();
        };
    }

    private static RemoteFault.Step repairShell() {
        return fleet -> fleet.faultyHost().setLoginShell("");
    }

    private static RemoteFault nvidiaSmiFault(String name, String fault, String reported) {
        return preventingTermination(
                name,
                fleet -> fleet.faultyHost().gpus().fault(fault),
                fleet -> fleet.faultyHost().gpus().noFault(),
                reported);
    }

    private static void allowSudo(FaultyFleet fleet) throws IOException {
        fleet.faultyHost().sudoers(SshFleet.SUDOERS);
    }

    private static Path envsJson(FaultyFleet fleet) {
        return fleet.faultyHost().stateDirectory().resolve("envs.json");
    }

    private static Path movedNvidiaSmi(FaultyFleet fleet) {
        return fleet.faultyHost().gpus().path().resolveSibling("away");
    }

    private void startSilentServer(FaultyFleet fleet) throws IOException {
        fleet.faultyHost().stop();
        var address = InetAddress.getByName(fleet.faultyHost().address());
        helper = new ServerSocket(fleet.faultyHost().port(), 100, address);
    }

    private void holdLock(FaultyFleet fleet) throws IOException {
        helper = RealFlock.take(fleet.faultyHost().stateDirectory().resolve("genv.lock"));
    }
}
