package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A machine as files, for the node and for the agent. At first, process 812 of alice in environment a uses device 0, which is attached to a;
 * device 1 is free.
 */
final class DescribedMachine extends FakeMachine implements AutoCloseable {
    static final long ALICE = 1003;
    static final long BOB = 1004;
    /** An account of this machine's name service that is not in the passwd of the described machine. */
    static final String NAMED = named()[0];

    static final long NAMED_UID = Long.parseLong(named()[2]);
    static final String NAMED_GID = named()[3];
    /** In seconds; every process was started before. */
    static final long UPTIME = 10_000_000;

    private static final Duration LOCK_LIMIT = Duration.ofMillis(250);

    /** Closed after the observation. */
    final List<Closeable> open = new ArrayList<>();

    DescribedMachine(Hands hands, Path folder) throws IOException {
        super(hands, folder);
        lockLimit = LOCK_LIMIT;
        agentRoot = proc.hostRoot().toString();
        etc = proc.hostRoot().resolve("etc");
        passwd("root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n");
        Files.writeString(etc.resolve("subuid"), "alice:100000:65536\n");
        proc.writeUptime(UPTIME);
        access(0x1ff_ffff_ffffL, 4026531836L, "unconfined");
        listProcesses("GPU-0, 812, 1542\n", 0);
        listDevices("0, GPU-0, 16384\n1, GPU-1, 16384\n", 0);
        process(812, ALICE, "GENV_ENVIRONMENT_ID=a");
        envs(env("a", ALICE, "alice", "812"));
        devices(device(0, "a"), device(1));
    }

    void envs(String... entries) throws IOException {
        file("envs.json", "{\"envs\": [%s]}".formatted(String.join(", ", entries)));
    }

    void devices(String... entries) throws IOException {
        file("devices.json", "{\"devices\": [%s]}".formatted(String.join(", ", entries)));
    }

    void file(String name, String content) throws IOException {
        Files.writeString(state.resolve(name), content);
    }

    void noFile(String name) throws IOException {
        Files.delete(state.resolve(name));
    }

    /** Has a process hold genv's lock. */
    void holdLock(int pid, long uid) throws IOException {
        process(pid, uid);
        var file = state.resolve("genv.lock");
        open.add(RealFlock.take(file));
        var inode = Files.getAttribute(file, "unix:ino");
        Files.writeString(
                proc.root().resolve("locks"), "1: FLOCK  ADVISORY  WRITE %d fe:00:%s 0 EOF\n".formatted(pid, inode));
    }

    void access(long capabilities, long pidNamespace, String label) throws IOException {
        proc.writeSelf("%016x".formatted(capabilities), label);
        proc.pidNamespace(pidNamespace);
    }

    void passwd(String content) throws IOException {
        Files.writeString(etc.resolve("passwd"), content);
    }

    /** Has the service run on the host, so that the name service finds this machine's accounts. */
    void nameService() throws IOException {
        Files.createSymbolicLink(proc.root().resolve("self/root"), proc.hostRoot());
    }

    /** Returns the first account of this machine that is not root's. */
    private static String[] named() {
        try (var lines = Files.lines(Path.of("/etc/passwd"))) {
            return lines.map(line -> line.split(":", -1))
                    .filter(fields -> !fields[2].equals("0"))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void listProcesses(String lines, int exitCode) throws IOException {
        answer("apps", lines, exitCode);
    }

    void listDevices(String lines, int exitCode) throws IOException {
        answer("gpu=", lines, exitCode);
    }

    private void answer(String query, String lines, int exitCode) throws IOException {
        var folder = Files.createDirectories(tool.path().resolveSibling("answers"));
        Files.writeString(folder.resolve(query), lines);
        Files.writeString(folder.resolve(query + ".exit"), Integer.toString(exitCode));
        tool.fault(
                "for query in apps gpu=; do case $1 in *$query*) cat %1$s/$query; exit $(cat %1$s/$query.exit);; esac; done"
                        .formatted(folder));
    }

    FakeProcess process(int pid, long uid, String... environ) throws IOException {
        return proc.process(pid).uid(uid).environ(environ);
    }

    void noProcess(int pid) throws IOException {
        var folder = proc.root().resolve(Integer.toString(pid));
        Files.move(folder, folder.resolveSibling("exited"));
    }

    /** A file of root's on the host. */
    Path program(String path) throws IOException {
        var file = proc.hostRoot().resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        return Files.writeString(file, path);
    }

    /** A protected program. */
    Path protect(String path, String user) throws IOException {
        programs.add(new ProtectedExecutable(Path.of(path), user));
        return program(path);
    }

    /** Replaces a program, and returns the old file. */
    Path replace(String path) throws IOException {
        var file = proc.hostRoot().resolve(path.substring(1));
        var old = Files.move(file, file.resolveSibling("old"));
        Files.writeString(file, "new");
        return old;
    }

    void runs(int pid, Path program) throws IOException {
        var link = proc.root().resolve(pid + "/exe");
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, program);
    }

    @Override
    public void close() throws IOException {
        for (var each : open) {
            each.close();
        }
    }

    static String env(String eid, long uid, String user, String pids, String... kernels) {
        return "{\"eid\": \"%s\", \"uid\": %d, \"username\": \"%s\", \"creation\": \"\", \"config\": {}, \"pids\": [%s], \"kernel_ids\": [%s]}"
                .formatted(eid, uid, user, pids, String.join(", ", kernels));
    }

    static String device(int index, String... eids) {
        var attachments = new ArrayList<String>();
        for (var eid : eids) {
            attachments.add("{\"eid\": \"%s\", \"gpu_memory\": null, \"time\": null}".formatted(eid));
        }
        return "{\"index\": %d, \"total_memory\": \"1mi\", \"attachments\": [%s]}"
                .formatted(index, String.join(", ", attachments));
    }
}
