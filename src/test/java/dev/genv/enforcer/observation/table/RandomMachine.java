package dev.genv.enforcer.observation.table;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import dev.genv.enforcer.testsupport.fake.Mutations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Changes a machine at random: its processes, its state and its accounts, as honest and hostile users, root and the kernel may write them.
 * Nothing of it hangs. The same seed always makes the same changes.
 */
final class RandomMachine {
    private static final List<Integer> LISTED = List.of(812, 813, 814, 815);
    private static final List<Integer> PIDS = List.of(812, 813, 814, 815, 900, 901, 902, 903);
    private static final List<Integer> PARENTS = List.of(0, 1, 1, 812, 813, 900, 901, 902, 903, 999);
    private static final List<Long> UIDS = List.of(
            0L,
            DescribedMachine.ALICE,
            DescribedMachine.ALICE,
            DescribedMachine.BOB,
            100_001L,
            200_000L,
            5000L,
            4_294_967_294L);
    private static final List<String> EIDS = List.of("a", "a", "b", "900", "ended", "k");
    /** Ids in the file, of which some are written in another way than genv does. */
    private static final List<String> WRITTEN =
            List.of("a", "b", "900", "k", "\\u0039\\u003002", "0903", "+901", "\u0668\u0661\u0662");

    private static final String ID = "GENV_ENVIRONMENT_ID=";
    private static final String CONTAINER = "0123456789abcdef".repeat(4);
    private static final List<String> CGROUPS = List.of(
            "0::/\n",
            "0::/user.slice/user-1003.slice/session-2.scope\n",
            "0::/system.slice/docker-" + CONTAINER + ".scope\n",
            "0::/user.slice/user-1003.slice/user@1003.service/docker-" + CONTAINER + ".scope\n",
            "0::/system.slice/slurmstepd.scope/job_7/step_0\n",
            "12:cpu:/slurm/uid_1003/job_8/step_0\n0::/\n",
            "0::/\u001b[2J a\\012b\r\n",
            "0::" + "/a".repeat(2100) + "\n",
            "");
    private static final List<String> UID_MAPS = List.of(
            "         0          0 4294967295\n",
            "0 1003 1\n1 100000 65536\n",
            "0 100000 65536\n",
            "1000 100001 1\n",
            "0 1004 1\n",
            "");
    private static final List<String> ARGUMENTS = List.of(
            "python\0train.py\0",
            "python\0-f\0/run/kernel-k.json\0",
            "python\0--f=kernel-k.json\0x\0",
            "/kernel-k.json",
            "kernel-\u00fc.json\0",
            "");
    private static final List<String> PROGRAMS = List.of("/usr/bin/server", "/usr/bin/python3", "/home/alice/python");

    private final DescribedMachine machine;
    private final Mutations random;
    private int exited;

    RandomMachine(DescribedMachine machine, Mutations random) throws IOException {
        this.machine = machine;
        this.random = random;
        machine.overwrittenIsOutside = random.oneIn(3);
        if (random.oneIn(2)) {
            machine.protect(PROGRAMS.getFirst(), random.oneIn(2) ? "alice" : "root");
        }
        if (random.oneIn(2)) {
            machine.exempt.add(random.pick(List.of("alice", "bob", "1004", "5000", "nobody", "no-such-user")));
        }
        machine.nameService();
        for (var path : PROGRAMS) {
            machine.program(path);
        }
        for (var pid : PIDS) {
            process(pid);
        }
        changeState();
        changeTool();
        changeAccounts();
        if (random.oneIn(3)) {
            changeService();
        }
    }

    /** Changes some of it, as between two observations. */
    void change() throws IOException {
        for (var times = 1 + random.number(4); times > 0; times--) {
            switch (random.number(8)) {
                case 7 -> changeService();
                case 0, 1, 2 -> process(random.pick(PIDS));
                case 3, 4 -> changeState();
                case 5 -> changeTool();
                default -> changeAccounts();
            }
        }
    }

    /** Another process has this pid, or the same one has changed; or none has it. */
    private void process(int pid) throws IOException {
        var folder = machine.proc.root().resolve(Integer.toString(pid));
        if (Files.exists(folder)) {
            Files.move(folder, folder.resolveSibling("exited-" + ++exited));
        }
        if (random.oneIn(10)) {
            return;
        }
        var process = machine.proc.process(pid).uid(random.pick(UIDS));
        process.parent(random.pick(PARENTS)).session(random.pick(PIDS));
        if (random.oneIn(2)) {
            process.environ("HOME=/", ID + random.pick(EIDS));
        }
        for (var times = random.number(4); times > 0; times--) {
            change(process);
        }
        if (random.oneIn(3)) {
            hide(process);
        }
    }

    private void change(FakeProcess process) throws IOException {
        switch (random.number(20)) {
            case 0 -> process.environ(environ());
            case 1 -> process.environ(random.bytes(environ()));
            case 2 ->
                process.environ("HOME=/home/alice", ID + random.pick(EIDS)).overwrite();
            case 3 ->
                process.environ("HOME=/", "LANG=C", "LC_ALL=C")
                        .overwrite(("title " + ID + "a\0" + "\0".repeat(20)).getBytes(UTF_8));
            case 4 -> process.environ("HOME=/", ID + random.pick(EIDS)).moveEnviron(random.number(3) - 1);
            case 5 -> process.denyTrace();
            case 6 -> process.withoutEnvironment();
            case 7 -> process.environ("HOME=/").overwrite();
            case 8 -> process.uid(random.pick(UIDS));
            case 9 -> process.state(random.pick(List.of('Z', 'X', 'R', 'D', 'T', 'I')));
            case 10 -> firstThreadExits(process);
            case 11, 12 -> Files.writeString(process.file("cgroup"), random.pick(CGROUPS));
            case 13 -> process.namespacePids(random.pick(List.of("812", "812\t7", "900\t1\t1", "")));
            case 14 -> Files.writeString(process.file("uid_map"), random.pick(UID_MAPS));
            case 15 ->
                process.exe(
                        machine.proc.hostRoot().resolve(random.pick(PROGRAMS).substring(1)));
            case 16 -> process.kernelThread();
            case 17 -> process.command(random.pick(List.of(") Z 1 (", "a\nUid:\t0\t0\t0\t0", "\u00fc\u001b[2J", "")));
            case 18 -> process.startTime(random.pick(List.of(0L, 1L, 4_000_000_000_000L)));
            default -> arguments(process);
        }
    }

    /** Of a title that extends into the environ, the kernel shows more or fewer bytes than the arguments had. */
    private void arguments(FakeProcess process) throws IOException {
        var arguments = random.pick(ARGUMENTS);
        process.arguments(arguments.split("\0"));
        if (random.oneIn(2)) {
            Files.write(process.file("cmdline"), random.pick(ARGUMENTS).getBytes(UTF_8));
        }
    }

    /** A file of it cannot be read, or none, as with hidepid=1. */
    private void hide(FakeProcess process) throws IOException {
        if (random.oneIn(5)) {
            for (var name : List.of("stat", "status", "cmdline", "environ", "cgroup", "uid_map")) {
                Files.delete(process.file(name));
                Files.createDirectory(process.file(name));
            }
            return;
        }
        var stat = ProcStat.parse(Files.readAllBytes(process.file("stat")));
        var hasMemory = !stat.hasEnded() && !stat.isKernelThread(); // otherwise its arguments are empty
        var name = random.pick(List.of("environ", "cgroup", "uid_map", "exe", hasMemory ? "cmdline" : "exe"));
        Files.deleteIfExists(process.file(name));
        if (!name.equals("exe")) {
            Files.createDirectory(process.file(name));
        }
    }

    private void firstThreadExits(FakeProcess process) throws IOException {
        process.state('Z').threads(1 + random.number(3));
        for (var tid = 2000; tid < 2000 + random.number(3); tid++) {
            var thread = process.thread(tid).environ("HOME=/", ID + random.pick(EIDS));
            switch (random.number(6)) {
                case 0 -> thread.state('Z');
                case 1 -> thread.denyTrace();
                case 2 -> thread.withoutEnvironment();
                case 3 -> thread.overwrite();
                case 4 ->
                    thread.exe(machine.proc
                            .hostRoot()
                            .resolve(random.pick(PROGRAMS).substring(1)));
                default -> {}
            }
        }
    }

    private byte[] environ() {
        return switch (random.number(6)) {
            case 0 -> new byte[0];
            case 1 -> (ID + random.pick(EIDS) + "\0" + ID + random.pick(EIDS) + "\0").getBytes(UTF_8);
            case 2 -> (ID + "x\u00ff\0").getBytes(ISO_8859_1);
            case 3 -> (ID + "i".repeat(4090 + random.number(10)) + "\0").getBytes(UTF_8);
            case 4 ->
                (random.pick(List.of("=", "title", "A=", "\0", "X" + ID + "a")) + "\0" + ID + "a\0").getBytes(UTF_8);
            default -> (ID + random.pick(EIDS) + random.pick(List.of("", "\0", "\0\0"))).getBytes(UTF_8);
        };
    }

    private void changeState() throws IOException {
        var envs = WRITTEN.stream()
                .filter(_ -> !random.oneIn(3))
                .map(this::env)
                .collect(Collectors.joining(", ", "{\"envs\": [", "]}"));
        var devices = IntStream.range(0, 2)
                .filter(_ -> !random.oneIn(10))
                .mapToObj(index -> DescribedMachine.device(
                        index,
                        EIDS.stream().distinct().filter(_ -> random.oneIn(3)).toArray(String[]::new)))
                .collect(Collectors.joining(", ", "{\"devices\": [", "]}"));
        write("envs.json", envs);
        write("devices.json", devices);
        var lock = machine.state.resolve("genv.lock");
        Files.deleteIfExists(lock);
        switch (random.number(6)) {
            case 0 -> Files.createSymbolicLink(lock, Path.of("envs.json"));
            case 1 -> Files.createDirectory(lock);
            case 2 -> {}
            default -> Files.createFile(lock);
        }
    }

    private String env(String eid) {
        var pids =
                PIDS.stream().filter(_ -> random.oneIn(4)).map(String::valueOf).collect(Collectors.joining(", "));
        var kernels = eid.equals("k")
                ? List.of("\"k\"", "\"\u00fc\"", "\"\\u006c\"").subList(0, random.number(4))
                : List.of();
        return DescribedMachine.env(
                eid,
                random.pick(UIDS),
                random.pick(List.of("alice", "bob", "root", "nobody")),
                pids,
                kernels.toArray(String[]::new));
    }

    private void write(String name, String json) throws IOException {
        var file = machine.state.resolve(name);
        Files.deleteIfExists(file);
        var bytes = json.getBytes(UTF_8);
        switch (random.number(14)) {
            case 0 -> {}
            case 1 -> Files.createDirectory(file);
            case 2 -> Files.createSymbolicLink(file, Path.of("/etc/passwd"));
            case 3 -> Files.createLink(file, Files.write(closed(name), bytes));
            case 4, 5, 6 -> Files.write(file, random.json(bytes));
            case 7 -> Files.write(file, random.bytes(bytes));
            default -> Files.write(file, bytes);
        }
    }

    private Path closed(String name) throws IOException {
        var file = machine.state.resolveSibling("closed-" + name);
        Files.deleteIfExists(file);
        Files.createFile(file);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    }

    private void changeTool() throws IOException {
        var lines = new ArrayList<String>();
        for (var pid : LISTED) {
            for (var device = 0; device < 2; device++) {
                if (random.oneIn(2)) {
                    var form = random.pick(List.of("%d", "%d", "%d", "%d", " %d\t", "0%d", "+%d", "%d.0"))
                            .formatted(pid);
                    lines.add("GPU-%d, %s, %s"
                            .formatted(device, form, random.pick(List.of("1542", "100", "[N/A]", "0"))));
                }
            }
        }
        var processes = lines.isEmpty() ? "" : String.join("\n", lines) + "\n";
        machine.listProcesses(random.oneIn(4) ? random.lines(processes) : processes, random.oneIn(20) ? 9 : 0);
        var devices = "0, GPU-0, 16384\n1, GPU-1, 1542\n";
        machine.listDevices(random.oneIn(6) ? random.lines(devices) : devices, random.oneIn(20) ? 9 : 0);
    }

    private void changeAccounts() throws IOException {
        var passwd = "root:x:0:0:::\nalice:x:1003:1:::\nbob:x:1004:1:::\n";
        machine.passwd(random.oneIn(3) ? random.lines(passwd.replace(':', ',')).replace(',', ':') : passwd);
        var subuid = "alice:100000:65536\n1004:200000:65536\n";
        Files.writeString(
                machine.etc.resolve("subuid"),
                random.oneIn(3) ? random.lines(subuid.replace(':', ',')).replace(',', ':') : subuid);
    }
    /** What the kernel tells about the service and the machine. */
    private void changeService() throws IOException {
        var proc = machine.proc;
        switch (random.number(5)) {
            case 0 ->
                machine.access(
                        random.pick(List.of(0L, 0x1ff_ffff_ffffL, 0x20L, 0x8_0000L)),
                        4026531836L,
                        random.pick(List.of("unconfined", "docker-default (enforce)", "", "\u00fc")));
            case 1 ->
                proc.writeDriver(random.pick(List.of("NVRM version: NVIDIA UNIX  580.95.05  Tue\nGCC\n", "", "x\n")));
            case 2 -> {
                var kind = random.pick(List.of("fuse.sshfs", "fuse", "ext4", "nfs4"));
                var point = random.pick(List.of(machine.state.toString(), machine.state + "/a\\040b", "/", "/var"));
                var options =
                        random.pick(List.of("rw,user_id=1003,group_id=100", "rw,user_id=0", "rw", "rw,user_id=x"));
                proc.mounts(
                        "self",
                        "22 1 0:20 / / rw - ext4 /dev/sda rw",
                        "36 22 0:32 / %s rw - %s src %s".formatted(point, kind, options));
            }
            case 3 -> Files.deleteIfExists(proc.root().resolve("self/mountinfo"));
            default ->
                Files.writeString(
                        machine.etc.resolve("machine-id"),
                        random.pick(List.of(
                                "0123456789abcdef0123456789abcdef\n",
                                "",
                                "0123\n",
                                "\n0123456789abcdef0123456789abcdef\n")));
        }
    }
}
