package dev.genv.enforcer.testsupport.ssh;

import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** The {@code /etc} of a fake machine: users, sudo's rules, a machine-id and the settings of its sshd. */
final class PrivateEtc {
    /** Files of the real {@code /etc} that programs need. */
    private static final List<String> SHARED_FILES = List.of("bash.bashrc", "ld.so.cache", "localtime");

    private static final String SHELL = "/home/shell";
    private final Path directory;
    private final List<String> passwd = new ArrayList<>();
    private final List<String> shadow = new ArrayList<>();
    private final List<String> group = new ArrayList<>(List.of("nogroup:x:65534:"));

    PrivateEtc(Path directory, String hostname) throws IOException {
        this.directory = Files.createDirectory(directory);
        for (var name : SHARED_FILES) {
            var real = Path.of("/etc", name);
            if (Files.exists(real)) {
                Files.copy(real, directory.resolve(name));
            }
        }
        Files.createDirectory(directory.resolve("alternatives"));
        addUser("root", 0);
        addAccount("nobody", 65534, 65534, "/nonexistent", "/usr/sbin/nologin");
        addAccount("sshd", 54_099, 65534, "/run/sshd", "/usr/sbin/nologin");
        write("hosts", "rw-r--r--", "127.0.0.1 localhost %s\n".formatted(hostname));
        write("machine-id", "r--r--r--", UUID.randomUUID().toString().replace("-", "") + "\n");
        write("nsswitch.conf", "rw-r--r--", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n");
        write("pam.d/sudo", "rw-r--r--", """
                auth required pam_unix.so
                account required pam_unix.so
                session required pam_permit.so
                """);
        write("pam.d/other", "rw-r--r--", "auth required pam_deny.so\naccount required pam_deny.so\n");
    }

    /** Adds a user who can log in, with a home and Bash. */
    void addUser(String name, long uid) throws IOException {
        group.add("%s:x:%d:".formatted(name, uid));
        addAccount(name, uid, uid, "/home/" + name, SHELL);
    }

    /** Replaces all rules of sudo except Debian's own. */
    void sudoers(String rules) throws IOException {
        write("sudoers", "r--r-----", """
                Defaults env_reset
                Defaults mail_badpass
                Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                Defaults use_pty
                root ALL=(ALL:ALL) ALL
                """ + rules + "\n");
    }

    /** Replaces the key of sshd. */
    void newHostKey() throws IOException {
        var key = Files.createDirectories(directory.resolve("ssh")).resolve("host_key");
        Files.deleteIfExists(key);
        Programs.newKey(key);
    }

    /** Returns type and key, as in known_hosts. */
    String hostKey() throws IOException {
        var parts = Files.readString(directory.resolve("ssh/host_key.pub")).split(" ", -1);
        return parts[0] + " " + parts[1].strip();
    }

    void authorizedKeys(String keys) throws IOException {
        write("ssh/authorized_keys", "rw-r--r--", keys);
    }

    void sshdConfig(String address, int port) throws IOException {
        write("ssh/sshd_config", "rw-r--r--", """
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
                """.formatted(address, port));
    }

    /** Replaces a file at once, because programs can read it at the same time. */
    void write(String name, String mode, String content) throws IOException {
        var file = directory.resolve(name);
        Files.createDirectories(file.getParent());
        var finished = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), content);
        Files.setPosixFilePermissions(finished, PosixFilePermissions.fromString(mode));
        Files.move(finished, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private void addAccount(String name, long uid, long gid, String home, String shell) throws IOException {
        passwd.add("%s:x:%d:%d::%s:%s".formatted(name, uid, gid, home, shell));
        shadow.add(name + ":*:20000:0:99999:7:::");
        write("passwd", "rw-r--r--", String.join("\n", passwd) + "\n");
        write("group", "rw-r--r--", String.join("\n", group) + "\n");
        write("shadow", "rw-r-----", String.join("\n", shadow) + "\n");
    }
}
