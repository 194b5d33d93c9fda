package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.RemoteFault.blinding;
import static dev.genv.enforcer.e2e.RemoteFault.harmless;
import static dev.genv.enforcer.e2e.RemoteFault.unreachable;

import dev.genv.enforcer.testsupport.RealFlock;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** What one machine of a fleet can do to whoever enforces it over SSH. */
final class RemoteFaults {
    private static final String[] NO_ANSWER = {"busy", "connection_lost", "unreachable", "timeout"};
    private static final RemoteFault.Step NOTHING = _ -> {};

    private Closeable helper = () -> {};

    private RemoteFaults() {}

    /** Of the connection. */
    static List<RemoteFault> ofConnections() {
        var faults = new RemoteFaults();
        return List.of(
                unreachable(
                                "is down",
                                fleet -> fleet.host().stop(),
                                fleet -> fleet.host().start(),
                                "host_unreachable")
                        .perhaps(NO_ANSWER),
                harmless(
                                "restarts its sshd",
                                fleet -> {
                                    fleet.host().stop();
                                    fleet.host().start();
                                },
                                NOTHING)
                        .perhaps("connection_lost", "host_unreachable"),
                unreachable(
                                "freezes",
                                fleet -> fleet.host().freeze(),
                                fleet -> fleet.host().thaw(),
                                "connect_timeout")
                        .perhaps(NO_ANSWER),
                unreachable(
                                "accepts connections and sends nothing",
                                faults::startSilence,
                                fleet -> {
                                    faults.helper.close();
                                    fleet.host().start();
                                },
                                "connect_timeout")
                        .perhaps("busy", "connection_lost", "unreachable", "host_unreachable"),
                unreachable(
                                "has another host key than the known one",
                                fleet -> {
                                    fleet.host().newHostKey();
                                    fleet.host().stop();
                                    fleet.host().start();
                                },
                                fleet -> fleet.hosts().know(),
                                "host_key_changed")
                        .perhaps("connection_lost", "host_unreachable"),
                unreachable(
                                "has an unknown host key",
                                fleet -> {
                                    fleet.hosts().forget(fleet.host());
                                    fleet.host().cut();
                                },
                                fleet -> fleet.hosts().know(),
                                "host_key_unknown")
                        .perhaps("connection_lost"),
                unreachable(
                                "refuses the key",
                                fleet -> {
                                    fleet.host().refuseKey();
                                    fleet.host().cut();
                                },
                                fleet -> fleet.host().acceptKey(),
                                "authentication_failed")
                        .perhaps("connection_lost"),
                shell("closes the connection during every command", "kill -9 $PPID", "connection_lost")
                        .perhaps("busy"));
    }

    /** Of commands that come to no end. */
    static List<RemoteFault> ofEndlessCommands() {
        return List.of(
                harmless("is slow", fleet -> fleet.host().shell("sleep 2"), shellIsWell()),
                shell("hangs after the login", "exec sleep 3600", "timeout").perhaps("busy", "unreachable"),
                shell("prints without end", "exec cat /dev/zero", "answer_too_long")
                        .perhaps("busy", "unreachable", "timeout"),
                shell("writes to stderr without end", "exec cat /dev/zero >&2", "answer_too_long")
                        .perhaps("busy", "unreachable", "timeout"),
                shell("prints one line every 0.5 s", "while echo; do sleep 0.5; done", "timeout")
                        .perhaps("busy", "unreachable"));
    }

    /** Of what else happens after the login. */
    static List<RemoteFault> ofCommands() {
        return List.of(
                shell("answers with random bytes", "head -c 100000 /dev/urandom; exit 0", "answer_unreadable"),
                shell("answers with no output", "exit 0", "answer_unreadable"),
                harmless(
                        "prints a banner before every command",
                        fleet -> fleet.host().shell(BANNER),
                        shellIsWell()),
                harmless(
                        "has a `.bashrc` that prints",
                        fleet -> fleet.host().bashrc(RealSshd.ADMIN, BANNER),
                        fleet -> fleet.host().bashrc(RealSshd.ADMIN, "")),
                unreachable(
                        "requires a password for sudo",
                        fleet -> fleet.host().sudoers(RealSshd.ADMIN + " ALL=(ALL) ALL"),
                        RemoteFaults::allowSudo,
                        "sudo_refused"),
                unreachable(
                        "allows no sudo",
                        fleet -> fleet.host().sudoers("# nobody\n"),
                        RemoteFaults::allowSudo,
                        "sudo_refused"),
                unreachable(
                        "has no sudo",
                        fleet -> fleet.host().bashrc(RealSshd.ADMIN, "PATH=/nowhere\n"),
                        fleet -> fleet.host().bashrc(RealSshd.ADMIN, ""),
                        "sudo_missing"),
                // It comes back a minute later: what had to be killed is not asked again at once.
                tool(
                        "has an nvidia-smi that hangs and ignores signals",
                        "trap '' TERM HUP INT; while :; do sleep 1; done",
                        "gpu_tool_failed"));
    }

    /** Of what it looks at there. */
    static List<RemoteFault> ofMachines() {
        var faults = new RemoteFaults();
        return List.of(
                blinding(
                        "has no nvidia-smi",
                        fleet -> Files.move(fleet.host().gpus().path(), away(fleet)),
                        fleet -> Files.move(away(fleet), fleet.host().gpus().path()),
                        "gpu_tool_failed"),
                tool("has no driver", "exit 9", "gpu_tool_failed"),
                tool("has an nvidia-smi that hangs", "exec sleep 3600", "gpu_tool_failed"),
                tool("has an nvidia-smi that prints without end", "exec cat /dev/zero", "gpu_tool_failed"),
                tool(
                        "has lost a GPU",
                        "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 15",
                        "gpu_lost"),
                blinding(
                        "has an `envs.json` that is not JSON",
                        fleet -> Files.writeString(envsJson(fleet), "garbage"),
                        fleet -> fleet.host().state().write(),
                        "membership_unknown",
                        "state_unreadable"),
                blinding(
                        "has a symbolic link as `envs.json`",
                        fleet -> {
                            Files.delete(envsJson(fleet));
                            Files.createSymbolicLink(envsJson(fleet), Path.of("/etc/passwd"));
                        },
                        fleet -> fleet.host().state().write(),
                        "membership_unknown",
                        "state_unreadable"),
                harmless(
                        "has a `genv.lock` that is held for ever",
                        faults::holdLock,
                        _ -> faults.helper.close(),
                        "lock_timeout"));
    }

    /** It tries to look like what the program itself says. */
    private static final String BANNER = "echo 'Welcome to gpu-1'; echo '@0 end'; echo '{}'; echo oops >&2";

    private static RemoteFault shell(String name, String fault, String told) {
        return unreachable(name, fleet -> fleet.host().shell(fault), shellIsWell(), told);
    }

    private static RemoteFault.Step shellIsWell() {
        return fleet -> fleet.host().shell("");
    }

    private static RemoteFault tool(String name, String fault, String told) {
        return blinding(
                name,
                fleet -> fleet.host().gpus().fault(fault),
                fleet -> fleet.host().gpus().noFault(),
                told);
    }

    private static void allowSudo(FaultyFleet fleet) throws IOException {
        fleet.host().sudoers(SshFleet.SUDOERS);
    }

    private static Path envsJson(FaultyFleet fleet) {
        return fleet.host().stateDirectory().resolve("envs.json");
    }

    private static Path away(FaultyFleet fleet) {
        return fleet.host().gpus().path().resolveSibling("away");
    }

    private void startSilence(FaultyFleet fleet) throws IOException {
        fleet.host().stop();
        var address = InetAddress.getByName(fleet.host().address());
        helper = new ServerSocket(fleet.host().port(), 100, address);
    }

    private void holdLock(FaultyFleet fleet) throws IOException {
        helper = RealFlock.take(fleet.host().stateDirectory().resolve("genv.lock"));
    }
}
