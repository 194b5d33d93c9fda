package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_ATTACKER_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/** The attacker's process hides its program or its environment. */
final class ProcessAttacks {
    private static final String MOVES_ENVIRON = "moves-environ";

    /** With an argument it moves the end once, and its exit code is 0 if the kernel permits that. Fields: proc_pid_stat(5). */
    private static final String MOVES_ENVIRON_SOURCE = """
        #include <linux/prctl.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <unistd.h>

        int main(int count, char **arguments) {
            char stat[4096];
            FILE *file = fopen("/proc/self/stat", "r");
            stat[fread(stat, 1, sizeof stat - 1, file)] = 0;
            fclose(file);
            unsigned long field[64] = {0};
            int number = 3;
            for (char *word = strtok(strrchr(stat, ')') + 2, " "); word; word = strtok(0, " "))
                field[number++] = strtoul(word, 0, 10);
            struct prctl_mm_map map = {
                .start_code = field[26], .end_code = field[27], .start_data = field[45], .end_data = field[46],
                .start_brk = field[47], .brk = (uintptr_t) sbrk(0), .start_stack = field[28],
                .arg_start = field[48], .arg_end = field[49], .env_start = field[50], .exe_fd = -1};
            nice(19);
            for (unsigned long step = 1;; step++) {
                map.env_end = field[51] - step % 32;
                int failed = prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
                if (failed || count > 1)
                    return failed ? 1 : 0;
                if (step == 1)
                    fclose(fopen("moved", "w"));
            }
        }
        """;

    private ProcessAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.named("runs a program with the name `nvidia-cuda-mps-server`")
                        .reporting("non-env-processes")
                        .by(node -> node.useGpuAsAttacker(
                                node.startAsAttacker(
                                        "cp /usr/bin/sleep nvidia-cuda-mps-server && exec ./nvidia-cuda-mps-server 600",
                                        Map.of(),
                                        "nvidia-cuda-mps"),
                                2,
                                10)),
                Attack.named("runs the attacker's own program, mounted over a protected one")
                        .prepared(ProcessAttacks::protectProgram)
                        .reporting("non-env-processes")
                        .by(node -> {
                            var own = copyOfSleep(node.directory, "own");
                            Files.setAttribute(own, "unix:uid", ATTACKER_UID);
                            var server = protectedProgram(node.directory);
                            node.useGpuAsAttacker(startUnderMount(node, own, server, ATTACKER_UID), 2, 10);
                        }),
                Attack.named(
                                "breaks a rule beside a protected program of the victim, which is mounted under another name and was replaced")
                        .prepared(ProcessAttacks::protectProgram)
                        .reporting("non-env-processes")
                        .by(node -> {
                            var server = protectedProgram(node.directory);
                            var other = copyOfSleep(node.directory, "other");
                            node.restartVictimJobAs(startUnderMount(node, server, other, HONEST_UID));
                            Files.move(copyOfSleep(node.directory, "new"), server, StandardCopyOption.ATOMIC_MOVE);
                            node.useGpuAsVictim(0);
                            node.startStray();
                        }),
                Attack.named("overwrites the environment variables of the attacker's process")
                        .preventingTermination()
                        .reporting("membership_unknown")
                        .by(node -> node.useGpuAsAttacker(startWithOverwrittenEnviron(node), 2, 10)),
                Attack.named("does the same, and lists its pid in the attacker's environment")
                        .preventingTermination()
                        .reporting("membership_unknown")
                        .by(node -> {
                            var process = startWithOverwrittenEnviron(node);
                            node.writeAsAttacker(node.withAttackerEnvironment(node.attackerShell, process.pid()));
                            node.useGpuAsAttacker(process, 2, 10);
                        }),
                Attack.named(
                                "lists the pid of a process without an id in an own environment that does not hold its device")
                        .reporting("non-env-processes")
                        .by(node -> {
                            var process = node.startAsAttacker("exec sleep 600", Map.of(), "sleep");
                            node.writeAsAttacker(node.withAttackerEnvironment(node.attackerShell, process.pid()));
                            node.useGpuAsAttacker(process, 2, 10);
                        }),
                Attack.named("sets an id that cannot be decoded")
                        .reporting("inactive-env-processes")
                        .by(node -> node.useGpuAsAttacker(
                                node.startAsAttacker(
                                        "GENV_ENVIRONMENT_ID=$(printf '\\377\\376') exec sleep 600", Map.of(), "sleep"),
                                2,
                                10)),
                Attack.named(
                                "moves the address of its environment variables without a pause (`prctl`, `PR_SET_MM`); `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`")
                        .with("OVERWRITTEN_ENVIRON", "outside")
                        .prepared(ProcessAttacks::compile)
                        .reporting("non-env-processes")
                        .by(node -> {
                            var program = node.directory.resolve(MOVES_ENVIRON);
                            var process = node.startAsAttacker("exec " + program, Map.of(), MOVES_ENVIRON);
                            node.awaitFile("moved");
                            node.useGpuAsAttacker(process, 2, 10);
                        }));
    }

    private static void protectProgram(Node node) throws IOException {
        node.set("PROTECTED_EXECUTABLES", copyOfSleep(node.directory, "server") + "@*");
    }

    private static Path protectedProgram(Path directory) {
        return directory.resolve("server");
    }

    private static Path copyOfSleep(Path directory, String name) throws IOException {
        return Files.copy(Path.of("/usr/bin/sleep"), directory.resolve(name), StandardCopyOption.COPY_ATTRIBUTES);
    }

    /** Starts a program under the name of another one. Root makes the mount here; every user can in a user namespace. */
    private static Child startUnderMount(TwoUserNode node, Path program, Path name, int uid) throws IOException {
        var script = "mount --bind %1$s %2$s && exec setpriv --reuid=%3$d --regid=%3$d --clear-groups %2$s 600"
                .formatted(program, name, uid);
        return node.startAsRoot(
                List.of("unshare", "--mount", "sh", "-c", script),
                Map.of("PATH", "/usr/bin:/bin"),
                name.getFileName().toString());
    }

    private static Child startWithOverwrittenEnviron(TwoUserNode node) throws IOException {
        return node.startAsAttacker(
                "exec setsid perl -e '$0 = \"x\" x 5000; sleep 600'", IN_ATTACKER_ENVIRONMENT, "xxxxxxxxxxxxxxx");
    }

    private static void compile(Node node) throws Exception {
        var program = Programs.compile(node.directory.resolve(MOVES_ENVIRON), MOVES_ENVIRON_SOURCE);
        Requirements.require(
                new ProcessBuilder(program.toString(), "once").start().waitFor() == 0,
                "prctl(PR_SET_MM)",
                "run a kernel with CONFIG_CHECKPOINT_RESTORE");
    }
}
