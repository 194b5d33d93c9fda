package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Attacks on the files, the observation, the signals and the memory of the service. */
final class NodeAttacks {
    private static final int FIRST_SUBORDINATE_UID = 200_000;
    private static final int CYCLES = 12;
    private static final String LONG_NAME = "k".repeat(48_990);

    /** Becomes a uid in a user namespace that has all subordinate uids, as newuidmap(1) maps them. */
    private static final String SUBORDINATE_SCRIPT = """
            import ctypes, os, sys
            uid, first = int(sys.argv[1]), int(sys.argv[2])
            created, mapped, job = os.pipe(), os.pipe(), os.getpid()
            if os.fork() == 0:
                os.read(created[0], 1)
                for kind in 'uid', 'gid':
                    open('/proc/%d/%s_map' % (job, kind), 'w').write('0 %d 65536' % first)
                os.write(mapped[1], b'.')
                os._exit(0)
            if ctypes.CDLL(None).unshare(0x10000000):
                sys.exit('unshare failed')
            os.write(created[1], b'.')
            os.read(mapped[0], 1)
            os.wait()
            os.setgroups([])
            os.setresgid(*[uid - first] * 3)
            os.setresuid(*[uid - first] * 3)
            os.execv('/bin/sleep', ['sleep', '600'])
            """;

    /** One such letter makes Java store every letter of the text in two bytes. */
    private static final String LONG_USER = "\u20ac" + "u".repeat(4_000);

    /** The next process gets the pid after this one, as if the attacker had started many. */
    private static final Path LAST_PID = Path.of("/proc/sys/kernel/ns_last_pid");

    /** The privilege that lets it change its real uid belongs to root here; newuidmap gives it to every user with subordinate uids. */
    private static final String CHANGING_UID_SCRIPT =
            "$uid = %d; while (1) { $< = $uid++; select(undef, undef, undef, 0.001) }".formatted(FIRST_SUBORDINATE_UID);

    /** The driver lists no process in every second query. */
    private static final String ALTERNATING_LISTING_SCRIPT =
            "case $1 in *compute-apps*) if [ -e $0.second ]; then rm $0.second; exit 0; fi; : >$0.second ;; esac";

    private NodeAttacks() {}

    /** The attacker holds the locks, or replaces the state files. */
    static List<Attack> onFiles() {
        return List.of(
                Attack.named("holds genv's lock for ever")
                        .reporting("lock_timeout", "non-env-processes")
                        .by(node -> {
                            node.startAsAttacker("exec flock -x -F genv.lock sleep 600", Map.of(), "sleep");
                            node.startStray();
                        }),
                Attack.named("holds the service's own lock for ever")
                        .reporting("non-env-processes")
                        .by(node -> {
                            node.startAsAttacker(
                                    "rm -f .genv-enforcer.lock && exec flock -x -F .genv-enforcer.lock sleep 600",
                                    Map.of(),
                                    "sleep");
                            node.startStray();
                        }),
                Attack.named("replaces genv's lock by a folder")
                        .reporting("lock_unusable", "non-env-processes")
                        .by(node -> {
                            node.runAsAttacker("rm -f genv.lock && mkdir -p genv.lock/folder");
                            node.startStray();
                        }),
                Attack.named("replaces every file by a symbolic link to a file of root's")
                        .preventingTermination()
                        .reporting("lock_unusable", "membership_unknown", "state_unreadable")
                        .by(node -> {
                            node.runAsAttacker(
                                    "for file in envs.json devices.json genv.lock .genv-enforcer.lock; do rm -f $file; ln -s %s/$file $file; done"
                                            .formatted(node.rootFolder));
                            node.startStray();
                        }),
                Attack.named("adds 5,000 entries whose ids contain terminal control characters")
                        .reporting("entry_unreadable", "more_problems", "non-env-processes")
                        .by(node -> {
                            var entries = entries(
                                    5_000,
                                    "{\"eid\": \"\\u001b[2J\\u202e\\n%d\", \"pids\": \"\", \"uid\": []}"::formatted);
                            node.writeAsAttacker(
                                    "envs.json",
                                    node.validState().envsJson().replace("\"envs\": [", "\"envs\": [" + entries + ","));
                            node.startStray();
                        }));
    }

    static List<Attack> onTheObservation() {
        return List.of(
                Attack.named(
                                "starts 1,500 processes that share one megabyte of arguments, and adds an environment with a Jupyter kernel")
                        .reporting("non-env-processes")
                        .by(node -> {
                            startProcessesWithLongArguments(node);
                            node.writeAndStartStray(node.validState()
                                    .env("kernel", ATTACKER_UID, ATTACKER_NAME, null, List.of(), List.of("one")));
                        }),
                Attack.named("attaches the attacker's environment to a device that does not exist")
                        .reporting("device_unlisted", "non-env-processes")
                        .by(node -> node.writeAndStartStray(
                                node.validState().device(1).device(99, ATTACKER_ENVIRONMENT))),
                Attack.named(
                                "has the driver list the pid of a process that has exited, until the victim's job gets that pid")
                        .reporting("pid_reused")
                        .by(NodeAttacks::leavePidToVictim));
    }

    /** Ways in which the attacker tries to break a rule and to avoid every signal. */
    static List<Attack> onSignals() {
        return List.of(
                Attack.named("changes the real uid of its process a thousand times a second")
                        .reporting("non-env-processes")
                        .by(node -> node.useGpuAsAttacker(
                                node.startAsRoot(List.of("perl", "-e", CHANGING_UID_SCRIPT), Map.of(), "perl"), 2, 10)),
                Attack.named("names the victim's environment with 12 subordinate uids, each within its capacity")
                        .prepared(NodeAttacks::giveSubordinateUids)
                        .reporting("env-memory", "env-owner")
                        .by(node -> {
                            for (var uid = FIRST_SUBORDINATE_UID; uid < FIRST_SUBORDINATE_UID + 12; uid++) {
                                node.useGpuAsAttacker(startAsSubordinate(node, uid), 0, 100);
                            }
                        }),
                Attack.named("ignores SIGTERM and uses the GPU only in every second observation")
                        .with("KILL_AFTER", "3s")
                        .reporting("non-env-processes")
                        .by(node -> {
                            var script = "trap '' TERM; exec sleep 600";
                            node.useGpuAsAttacker(node.startAsAttacker(script, Map.of(), "sleep"), 2, 10);
                            node.gpus.fault(ALTERNATING_LISTING_SCRIPT);
                        }),
                Attack.named(
                                "uses the victim's device in the victim's environment, which has no capacity; `GENV_ENFORCER_ENV_OWNER=enforce`")
                        .with("ENV_OWNER", "enforce")
                        .reporting("env-owner")
                        .by(node -> {
                            node.writeAsAttacker(node.withVictimsEnvironment(VICTIM_ENVIRONMENT, node.victimShell));
                            node.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 10);
                        }),
                Attack.named("does the same, and lists its pid in the victim's environment")
                        .preventingTermination()
                        .with("ENV_OWNER", "enforce")
                        .reporting("env-owner")
                        .by(node -> {
                            node.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 10);
                            node.writeAsAttacker(node.withVictimsEnvironment(
                                    VICTIM_ENVIRONMENT, node.victimShell, node.attackerShell));
                        }));
    }

    /** State files that use up the memory of the service. */
    static List<Attack> onTheMemory() {
        return List.of(
                Attack.named("writes 340 field names of 49,000 characters, new ones in every cycle")
                        .preventingTermination()
                        .reporting("membership_unknown", "state_unreadable")
                        .by(node -> {
                            for (var cycle = 0; cycle < CYCLES; cycle++) {
                                var prefix = cycle + "-";
                                var names = entries(
                                        340,
                                        name -> "{\"eid\": \"%d\", \"%s%d%s\": 1}"
                                                .formatted(name, prefix, name, LONG_NAME));
                                node.writeAsAttacker("envs.json", "{\"envs\": [" + names + "]}");
                                node.awaitTwoObservations();
                            }
                            node.startStray();
                        }),
                Attack.named("writes 300,000 environments in the format before genv 0.9.0")
                        .preventingTermination()
                        .reporting("membership_unknown", "state_unreadable")
                        .by(node -> {
                            var environments = entries(300_000, "\"%d\": {}"::formatted);
                            node.writeAsAttacker("envs.json", "{\"envs\": {" + environments + "}}");
                            node.awaitTwoObservations();
                            node.startStray();
                        }),
                Attack.named("writes 1,300 users above the quota, with new names of 4,000 characters in every cycle")
                        .reporting("max-devices-per-user", "non-env-processes")
                        .by(node -> {
                            for (var cycle = 0; cycle < CYCLES; cycle++) {
                                node.writeAsAttacker(withUsers(node, cycle));
                                node.awaitTwoObservations();
                            }
                            node.startStray();
                        }));
    }

    private static String entries(int count, IntFunction<String> entry) {
        return IntStream.range(0, count).mapToObj(entry).collect(Collectors.joining(","));
    }

    private static StateFiles withUsers(TwoUserNode node, int cycle) {
        var files = node.validState();
        var eids = IntStream.range(0, 1_300)
                .mapToObj(user -> "%d-%d".formatted(cycle, user))
                .toList();
        eids.forEach(eid -> files.env(eid, ATTACKER_UID, eid + LONG_USER, null, node.attackerShell));
        var attached = Stream.concat(eids.stream(), Stream.of(ATTACKER_ENVIRONMENT));
        return files.device(1, attached.toArray(String[]::new)).device(2, eids.toArray(String[]::new));
    }

    /**
     * 115,000 arguments are nearly as many as Linux takes, and one megabyte. The children share them with their parent. They exit with it, because they wait for the end of a pipe that it holds.
     */
    private static void startProcessesWithLongArguments(TwoUserNode node) throws IOException {
        var fork = "for (1..1500) { if (!fork) { close(W); sysread(R, $x, 1); exit } }";
        node.startAsAttacker(
                "exec perl -e 'pipe(R, W); %s open(F, \">forked\"); close(F); sleep 600' $(seq 1000001 1115000)"
                        .formatted(fork),
                Map.of(),
                "perl");
        node.awaitFile("forked");
    }

    /**
     * The driver lists the pid that opened {@code /dev/nvidiactl} as long as any process has that file open. A user who starts many
     * processes can choose when the next one gets this pid.
     */
    private static void leavePidToVictim(TwoUserNode node) throws IOException {
        Requirements.require(Files.isWritable(LAST_PID), "a choice of pids", "add the capability CHECKPOINT_RESTORE");
        int pid;
        do { // another process of the machine may get the pid
            var process = node.startAs(ATTACKER_UID, Map.of());
            pid = process.pid();
            node.setAttackerProcess(process);
            process.close();
            node.gpus.fault("case $1 in *compute*) echo '%s, %d, 10' ;; esac".formatted(FakeNvidiaSmi.uuid(2), pid));
            node.awaitTwoObservations();
            Files.writeString(LAST_PID, Integer.toString(pid - 1));
            node.startVictimJob(IN_VICTIM_ENVIRONMENT);
        } while (node.victimJob() != pid);
    }

    private static Child startAsSubordinate(TwoUserNode node, int uid) throws IOException {
        var command = List.of(
                "/usr/bin/python3",
                "-I",
                "-S",
                "-c",
                SUBORDINATE_SCRIPT,
                Integer.toString(uid),
                Integer.toString(FIRST_SUBORDINATE_UID));
        return node.startAsRoot(command, IN_VICTIM_ENVIRONMENT, "sleep");
    }

    /** The service sees a copy of /etc in which the attacker has subordinate uids, and not that of the first process. */
    private static void giveSubordinateUids(Node node) throws IOException {
        var etc = node.directory.resolve("etc");
        Programs.run("cp", "-a", "/etc", etc.toString());
        Files.writeString(etc.resolve("subuid"), "%d:%d:65536\n".formatted(ATTACKER_UID, FIRST_SUBORDINATE_UID));
        node.launchWith(
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount --bind %s /etc && mount -t tmpfs none /proc/1 && exec \"$@\"".formatted(etc),
                "sh");
    }
}
