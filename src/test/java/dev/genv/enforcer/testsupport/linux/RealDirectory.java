package dev.genv.enforcer.testsupport.linux;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An LDAP directory with accounts (slapd), and the name service of a machine that uses it (nslcd and libnss-ldapd). They are in a mount
 * namespace of their own, in which {@code /etc/nsswitch.conf} names the directory; a socket of the test's folder connects them.
 */
public final class RealDirectory implements Closeable {
    private static final String ENTER = """
        set -e
        mount --make-rprivate /
        mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
        mount --bind "$1/nslcd.conf" /etc/nslcd.conf
        mount --bind "$1/passwd" /etc/passwd
        mount -t tmpfs tmpfs /run
        mkdir /run/nslcd
        : >"$1/entered"
        exec sleep 3600
        """;
    /** The uid of an account in the file of the machine that uses the directory. */
    public static final long LOCAL_UID = 20_231_234;

    private static final Map<String, String> PATH = Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");

    private final Path folder;
    private final Child namespace;
    private @Nullable Child directory;
    private @Nullable Child client;

    /** Prepares it in an empty folder with these accounts; neither of them runs. */
    public RealDirectory(Path folder, Map<String, Integer> accounts) throws IOException {
        Requirements.root();
        Requirements.program("/usr/sbin/slapd", "slapd");
        Requirements.program("/usr/sbin/nslcd", "nslcd libnss-ldapd");
        Requirements.require(
                Files.exists(Path.of("/etc/nslcd.conf")) && Files.exists(Path.of("/etc/ldap/schema/nis.schema")),
                "the configuration of nslcd and the schemas of slapd",
                "apt install nslcd libnss-ldapd slapd");
        this.folder = folder;
        write(accounts);
        namespace = Child.running(List.of("unshare", "--mount", "sh", "-c", ENTER, "sh", folder.toString()), PATH);
        await().until(() -> Files.exists(folder.resolve("entered")) || !namespace.isAlive());
        Requirements.mounts(namespace.isAlive());
    }

    private void write(Map<String, Integer> accounts) throws IOException {
        var database = Files.createDirectory(folder.resolve("database"));
        var configuration = Files.writeString(folder.resolve("slapd.conf"), """
            include /etc/ldap/schema/core.schema
            include /etc/ldap/schema/cosine.schema
            include /etc/ldap/schema/nis.schema
            modulepath /usr/lib/ldap
            moduleload back_mdb
            database mdb
            maxsize 10485760
            suffix dc=test
            directory %s
            """.formatted(database));
        Files.writeString(folder.resolve("nsswitch.conf"), "passwd: files ldap\ngroup: files\n");
        Files.writeString(
                folder.resolve("passwd"),
                Files.readString(Path.of("/etc/passwd")) + "local:x:%d:1::/:/bin/sh\n".formatted(LOCAL_UID));
        Files.writeString(folder.resolve("nslcd.conf"), """
            uid root
            gid root
            uri %s
            base dc=test
            ignorecase yes
            bind_timelimit 2
            timelimit 2
            reconnect_sleeptime 1
            reconnect_retrytime 1
            """.formatted(uri()));
        var entries = Files.writeString(
                folder.resolve("entries.ldif"),
                "dn: dc=test\nobjectClass: dcObject\nobjectClass: organization\ndc: test\no: test\n\n");
        for (var account : accounts.entrySet()) {
            Files.writeString(entries, """
                    dn: uid=%1$s,dc=test
                    objectClass: account
                    objectClass: posixAccount
                    uid: %1$s
                    cn: %1$s
                    uidNumber: %2$d
                    gidNumber: %2$d
                    homeDirectory: /

                    """.formatted(account.getKey(), account.getValue()), StandardOpenOption.APPEND);
        }
        Programs.run("/usr/sbin/slapadd", "-f", configuration.toString(), "-l", entries.toString());
    }

    private String uri() {
        return "ldapi://" + folder.resolve("ldapi").toString().replace("/", "%2F");
    }

    /** Returns a command that runs another one on the machine that uses the directory. */
    public List<String> command(String... command) {
        var all = new ArrayList<>(List.of("nsenter", "-t", Integer.toString(namespace.pid()), "-m"));
        all.addAll(List.of(command));
        return all;
    }

    public void startDirectory() throws IOException {
        var conf = folder.resolve("slapd.conf").toString();
        directory = Child.running(List.of("/usr/sbin/slapd", "-f", conf, "-h", uri(), "-d", "0"), PATH);
        await().until(() -> Files.exists(folder.resolve("ldapi")));
    }

    public void stopDirectory() throws IOException {
        close(directory);
        Files.deleteIfExists(folder.resolve("ldapi"));
    }

    public void startClient() throws IOException {
        client = Child.running(command("/usr/sbin/nslcd", "-n"), PATH);
    }

    public void stopClient() {
        close(client);
    }

    /** Has it hang, so that no question gets an answer, or continue. */
    public void setClientHangs(boolean hangs) throws IOException {
        var pid = client == null ? 0 : client.pid();
        Programs.run("kill", hangs ? "-STOP" : "-CONT", Integer.toString(pid));
        await().until(() ->
                Files.readString(Path.of("/proc/%d/stat".formatted(pid))).contains(") T ") == hangs);
    }

    private static void close(@Nullable Child child) {
        if (child != null) {
            child.close();
        }
    }

    @Override
    public void close() {
        close(client);
        close(directory);
        namespace.close();
    }
}
