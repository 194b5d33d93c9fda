package dev.genv.enforcer.testsupport.ssh;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.MountNamespace;
import dev.genv.enforcer.testsupport.linux.Ports;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * A fake machine with Debian's own sshd on a loopback address, in its own mount namespace, with users, rules of sudo, a machine-id, homes, a nvidia-smi and genv's state at the usual paths. Its processes are processes of the test machine.
 */
public final class RealSshd implements AutoCloseable {
    /** The user who may use sudo. */
    public static final String ADMIN = "admin";
    /** The path of the state on the machine. */
    public static final String STATE = "/var/tmp/genv";

    private static final String ENTER = """
            set -e
            echo "$2" >/proc/sys/kernel/hostname
            [ ! -d /etc/alternatives ] || mount --bind /etc/alternatives "$1/etc/alternatives"
            mount --rbind "$1/etc" /etc
            mount --bind "$1/home" /home
            mount --bind "$1/bin" /usr/local/sbin
            mount -t tmpfs -o mode=0755 run /run
            mkdir /run/sshd
            mount -t tmpfs -o mode=1777 tmp /var/tmp
            mkdir /var/tmp/genv
            mount --bind "$1/genv" /var/tmp/genv
            exec /usr/sbin/sshd -D -e
            """;

    private final Path directory;
    private final String name;
    private final String address;
    private final int port;
    private final PrivateEtc etc;
    private final Path stateDirectory;
    private final StateFiles state;
    private final FakeNvidiaSmi gpus;
    private Process listener;
    private MountNamespace namespace;

    /** Creates a machine without starting it. Root and {@link #ADMIN} can log in with the key. */
    RealSshd(Path directory, String name, String address, String clientKey) throws IOException {
        this.directory = Files.createDirectory(directory);
        this.name = name;
        this.address = address;
        port = Ports.free(address);
        etc = new PrivateEtc(directory.resolve("etc"), name);
        stateDirectory = Files.createDirectory(directory.resolve("genv"));
        Files.setPosixFilePermissions(stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        state = new StateFiles(stateDirectory);
        gpus = new FakeNvidiaSmi(directory.resolve("bin"));
        createHome("root");
        addUser(ADMIN, 54_100);
        setLoginShell("");
        etc.sudoers(ADMIN + " ALL=(ALL) NOPASSWD: ALL");
        etc.newHostKey();
        etc.authorizedKeys(clientKey);
        etc.sshdConfig(address, port);
    }

    public String name() {
        return name;
    }

    public String address() {
        return address;
    }

    public int port() {
        return port;
    }

    /** Returns address and port for a list of hosts. */
    public String target() {
        return "%s:%d".formatted(address, port);
    }

    public StateFiles state() {
        return state;
    }

    /** Returns the directory that is mounted at {@link #STATE}. */
    public Path stateDirectory() {
        return stateDirectory;
    }

    public FakeNvidiaSmi gpus() {
        return gpus;
    }

    /** Returns the log of sshd since its last start. */
    public String log() throws IOException {
        return Files.readString(directory.resolve("sshd.log"));
    }

    /** Adds a user of this machine only. */
    public RealSshd addUser(String user, long uid) throws IOException {
        etc.addUser(user, uid);
        createHome(user);
        return this;
    }

    /** Replaces the rules of sudo, which by default allow {@link #ADMIN} everything without a password. */
    public void sudoers(String rules) throws IOException {
        etc.sudoers(rules);
    }

    /** Sets shell lines that run before every command, also on open connections; empty for none. */
    public void setLoginShell(String fault) throws IOException {
        Programs.install(directory.resolve("home/shell"), "#!/bin/sh\n%s\nexec /bin/bash \"$@\"\n".formatted(fault));
    }

    /** Returns type and key. */
    public String hostKey() throws IOException {
        return etc.hostKey();
    }

    /** Returns its line of known_hosts. */
    public String knownHostsLine() throws IOException {
        return "[%s]:%d %s\n".formatted(address, port, hostKey());
    }

    /** Starts at the same port each time, and waits until it accepts connections. */
    public RealSshd start() throws IOException {
        var log = directory.resolve("sshd.log");
        var builder =
                new ProcessBuilder("unshare", "--mount", "--uts", "sh", "-c", ENTER, "sh", directory.toString(), name);
        builder.environment().clear();
        builder.environment().put("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        builder.redirectErrorStream(true).redirectOutput(log.toFile());
        listener = builder.start();
        await().until(() -> !listener.isAlive() || log().contains("Server listening on"));
        if (!listener.isAlive()) {
            throw new IOException("sshd has not started: " + log());
        }
        namespace = MountNamespace.of(listener.pid());
        return this;
    }

    /** Stops it with its connections and their processes; then its port is closed. */
    public void stop() throws IOException {
        if (namespace != null) {
            namespace.close();
            namespace = null;
        }
        if (listener != null) {
            listener.destroyForcibly();
            await().until(() -> !listener.isAlive());
        }
    }

    /** Kills the processes of open connections. New connections are possible. */
    public void cutConnections() {
        var open = connections();
        open.forEach(ProcessHandle::destroyForcibly);
        await().until(() -> open.stream().noneMatch(ProcessHandle::isAlive));
    }

    /** Suspends it and its connections, like a machine that runs out of memory: ports are open, and no process answers. */
    public void freeze() throws IOException {
        MountNamespace.signal("STOP", List.of(listener.toHandle()));
        MountNamespace.signal("STOP", namespace.processes());
    }

    public void thaw() throws IOException {
        MountNamespace.signal("CONT", namespace.processes());
    }

    /** Returns the processes of sshd that serve connections. */
    public List<ProcessHandle> connections() {
        return namespace.processes("sshd").stream()
                .filter(process -> process.pid() != listener.pid())
                .toList();
    }

    /** Returns all processes of the machine: sshd and the commands. */
    public List<ProcessHandle> processes() {
        return namespace == null ? List.of() : namespace.processes();
    }

    @Override
    public void close() throws IOException {
        stop();
    }

    private void createHome(String user) throws IOException {
        Files.createDirectories(directory.resolve("home").resolve(user));
    }
}
