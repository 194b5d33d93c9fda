package dev.genv.enforcer.testsupport.ssh;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

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

    /** Files of the real {@code /etc} that programs need. */
    private static final List<String> SHARED_FILES = List.of("bash.bashrc", "ld.so.cache", "localtime");

    private static final Path NO_NAMESPACE = Path.of("");

    private final Path directory;
    private final String name;
    private final String address;
    private final int port;
    private final Path etc;
    private String hostKey = "host_key";
    private String config = "";
    private final List<String> passwd = new ArrayList<>();
    private final List<String> shadow = new ArrayList<>();
    private final List<String> group = new ArrayList<>(List.of("nogroup:x:65534:"));
    private final Path stateDirectory;
    private final StateFiles state;
    private final FakeNvidiaSmi gpus;
    private Process listener;
    private Path namespace = NO_NAMESPACE;
    /** The open file prevents that the kernel reuses the namespace's inode. */
    private Closeable namespaceFile;

    /** Creates a machine without starting it. Root and {@link #ADMIN} can log in with the key. */
    RealSshd(Path directory, String name, String address, String clientKey) throws IOException {
        this.directory = Files.createDirectory(directory);
        this.name = name;
        this.address = address;
        try (var socket = new ServerSocket(0, 1, InetAddress.getByName(address))) {
            port = socket.getLocalPort();
        }
        etc = Files.createDirectories(directory.resolve("etc"));
        stateDirectory = Files.createDirectory(directory.resolve("genv"));
        Files.setPosixFilePermissions(stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        state = new StateFiles(stateDirectory);
        gpus = new FakeNvidiaSmi(directory.resolve("bin"));
        writeEtc(clientKey);
        addUser("root", 0);
        addUser(ADMIN, 54_100);
        setLoginShell("");
        sudoers(ADMIN + " ALL=(ALL) NOPASSWD: ALL");
    }

    private void writeEtc(String clientKey) throws IOException {
        for (var shared : SHARED_FILES) {
            if (Files.exists(Path.of("/etc", shared))) {
                Files.copy(Path.of("/etc", shared), etc.resolve(shared));
            }
        }
        Files.createDirectory(etc.resolve("alternatives"));
        addAccount("nobody", 65534, 65534, "/nonexistent", "/usr/sbin/nologin");
        addAccount("sshd", 54_099, 65534, "/run/sshd", "/usr/sbin/nologin");
        writeEtc("hosts", "rw-r--r--", "127.0.0.1 localhost %s\n".formatted(name));
        writeEtc("machine-id", "r--r--r--", UUID.randomUUID().toString().replace("-", "") + "\n");
        writeEtc("nsswitch.conf", "rw-r--r--", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n");
        writeEtc("pam.d/sudo", "rw-r--r--", """
            auth required pam_unix.so
            account required pam_unix.so
            session required pam_permit.so
            """);
        writeEtc("pam.d/other", "rw-r--r--", "auth required pam_deny.so\naccount required pam_deny.so\n");
        writeEtc("ssh/authorized_keys", "rw-r--r--", clientKey);
        config = """
            ListenAddress %s
            Port %d
            HostKey /etc/ssh/host_key
            AuthorizedKeysFile /etc/ssh/authorized_keys
            PermitRootLogin prohibit-password
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            UsePAM no
            StrictModes no
            UseDNS no
            PidFile none
            LogLevel VERBOSE
            """.formatted(address, port);
        configure("");
        Programs.newKey("ed25519", etc.resolve("ssh/host_key"));
    }

    /** Replaces a file at once, because programs can read it at the same time. */
    private void writeEtc(String file, String mode, String content) throws IOException {
        var path = etc.resolve(file);
        Files.createDirectories(path.getParent());
        var finished = Files.writeString(path.resolveSibling(path.getFileName() + ".new"), content);
        Files.setPosixFilePermissions(finished, PosixFilePermissions.fromString(mode));
        Files.move(finished, path, StandardCopyOption.ATOMIC_MOVE);
    }

    private void addAccount(String user, long uid, long gid, String home, String shell) throws IOException {
        passwd.add("%s:x:%d:%d::%s:%s".formatted(user, uid, gid, home, shell));
        shadow.add(user + ":*:20000:0:99999:7:::");
        writeEtc("passwd", "rw-r--r--", String.join("\n", passwd) + "\n");
        writeEtc("group", "rw-r--r--", String.join("\n", group) + "\n");
        writeEtc("shadow", "rw-r-----", String.join("\n", shadow) + "\n");
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
    private String log() throws IOException {
        return Files.readString(directory.resolve("sshd.log"));
    }

    /** Adds a user of this machine only, who can log in, with a home and Bash. */
    public RealSshd addUser(String user, long uid) throws IOException {
        group.add("%s:x:%d:".formatted(user, uid));
        addAccount(user, uid, uid, "/home/" + user, "/home/shell");
        Files.createDirectories(directory.resolve("home").resolve(user));
        return this;
    }

    /** Replaces all rules of sudo except Debian's own. By default {@link #ADMIN} may do everything without a password. */
    public void sudoers(String rules) throws IOException {
        writeEtc("sudoers", "r--r-----", """
            Defaults env_reset
            Defaults mail_badpass
            Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            Defaults use_pty
            root ALL=(ALL:ALL) ALL
            """ + rules + "\n");
    }

    /** Sets shell lines that run before every command, also on open connections; empty for none. */
    public void setLoginShell(String fault) throws IOException {
        Programs.install(directory.resolve("home/shell"), "#!/bin/sh\n%s\nexec /bin/bash \"$@\"\n".formatted(fault));
    }

    /** Returns its line of known_hosts. */
    String knownHostsLine() throws IOException {
        return "[%s]:%d %s\n".formatted(address, port, hostKey());
    }

    /** Returns its key as known_hosts has it: the certified one, if there is one. */
    public String hostKey() throws IOException {
        var key = Files.readString(etc.resolve("ssh/" + hostKey + ".pub")).split(" ", -1);
        return key[0] + " " + key[1].strip();
    }

    /** Adds a public key with which everybody can log in. */
    public void authorize(String key) throws IOException {
        writeEtc("ssh/authorized_keys", "rw-r--r--", Files.readString(etc.resolve("ssh/authorized_keys")) + key + "\n");
    }

    /** Sets lines of sshd_config, which take precedence over those that it had at first. Takes effect at the next start. */
    public void configure(String lines) throws IOException {
        writeEtc("ssh/sshd_config", "rw-r--r--", lines + "\n" + config);
    }

    /** Replaces the host key by a new one, with this kind and options of ssh-keygen. Takes effect at the next start. */
    public void newHostKey(String... kind) throws IOException {
        var key = etc.resolve("ssh/host_key");
        Files.delete(key);
        var command = new ArrayList<>(List.of("ssh-keygen", "-q", "-N", "", "-f", key.toString(), "-t"));
        command.addAll(List.of(kind));
        Programs.run(command);
    }

    /**
     * Has an authority certify another key of the host, of another kind, with these options of ssh-keygen. The certificate is shown
     * from the next start on.
     */
    public void certify(Path authority, String... options) throws IOException {
        hostKey = "certified_key";
        var key = etc.resolve("ssh/" + hostKey).toString();
        Programs.newKey("ecdsa", Path.of(key));
        var command = new ArrayList<>(List.of("ssh-keygen", "-q", "-s", authority.toString(), "-I", "test"));
        command.addAll(List.of(options));
        command.add(key + ".pub");
        Programs.run(command);
        var config = Files.readString(etc.resolve("ssh/sshd_config"));
        writeEtc(
                "ssh/sshd_config",
                "rw-r--r--",
                config + "HostKey /etc/ssh/%1$s\nHostCertificate /etc/ssh/%1$s-cert.pub\n".formatted(hostKey));
    }

    /** Starts at the same port each time, and waits until it accepts connections. */
    public RealSshd start() throws IOException {
        var builder =
                new ProcessBuilder("unshare", "--mount", "--uts", "sh", "-c", ENTER, "sh", directory.toString(), name);
        builder.environment().clear();
        builder.environment().put("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        builder.redirectErrorStream(true)
                .redirectOutput(directory.resolve("sshd.log").toFile());
        listener = builder.start();
        await().until(() -> !listener.isAlive() || log().contains("Server listening on"));
        if (!listener.isAlive()) {
            throw new IOException("sshd has not started: " + log());
        }
        namespaceFile = new FileInputStream(namespaceFile(listener.toHandle()).toFile());
        namespace = namespaceOf(listener.toHandle());
        if (namespace.equals(NO_NAMESPACE) || namespace.equals(namespaceOf(ProcessHandle.current()))) {
            throw new IOException("sshd has no mount namespace of its own");
        }
        return this;
    }

    /** Stops it with its connections and their processes, also those whose parents exited; then its port is closed. */
    public void stop() throws IOException {
        if (!namespace.equals(NO_NAMESPACE)) {
            await().until(() -> {
                processes().forEach(ProcessHandle::destroyForcibly);
                return processes().isEmpty();
            });
            namespace = NO_NAMESPACE;
            namespaceFile.close();
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
        signal("STOP", List.of(listener.toHandle()));
        signal("STOP", processes());
    }

    public void thaw() throws IOException {
        signal("CONT", processes());
    }

    private static void signal(String signal, List<ProcessHandle> processes) throws IOException {
        var pids =
                processes.stream().map(process -> Long.toString(process.pid())).toList();
        Programs.run("sh", "-c", "kill -%s %s || :".formatted(signal, String.join(" ", pids)));
    }

    /** Returns the processes of sshd that serve connections. */
    public List<ProcessHandle> connections() {
        return processes().stream()
                .filter(process ->
                        process.pid() != listener.pid() && commandOf(process).equals("sshd"))
                .toList();
    }

    /** Returns all processes of the machine: sshd and the commands. */
    public List<ProcessHandle> processes() {
        return ProcessHandle.allProcesses()
                .filter(process -> !namespace.equals(NO_NAMESPACE) && namespace.equals(namespaceOf(process)))
                .toList();
    }

    private static Path namespaceFile(ProcessHandle process) {
        return Path.of("/proc", Long.toString(process.pid()), "ns", "mnt");
    }

    private static Path namespaceOf(ProcessHandle process) {
        try {
            return Files.readSymbolicLink(namespaceFile(process));
        } catch (IOException e) { // it has ended
            return NO_NAMESPACE;
        }
    }

    private static String commandOf(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "comm"))
                    .strip();
        } catch (IOException e) { // it has ended
            return "";
        }
    }

    @Override
    public void close() throws IOException {
        stop();
    }
}
