package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.CProgram;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The attacker's process has the kernel show its environment variables at another address. */
final class EnvironAttacks {
    private static final String PROGRAM = "moves-environ";

    /** With an argument it moves the end once, and its exit code is 0 if the kernel permits that. Fields: proc_pid_stat(5). */
    private static final String SOURCE = """
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

    private EnvironAttacks() {}

    static List<Attack> all() {
        return List.of(Attack.withoutEffect(
                        "moves the address of its environment variables without a pause (`prctl`, `PR_SET_MM`); `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`",
                        twoUserNode -> {
                            var program = twoUserNode.node.directory.resolve(PROGRAM);
                            var process = twoUserNode.startAsAttacker("exec " + program, Map.of(), PROGRAM);
                            twoUserNode.awaitFile("moved");
                            twoUserNode.useGpuAsAttacker(process, 2, 10);
                        },
                        "non-env-processes")
                .withPreparation(node -> {
                    node.set("OVERWRITTEN_ENVIRON", "outside");
                    compile(node);
                }));
    }

    private static void compile(Node node) throws IOException {
        var program = CProgram.compile(node.directory.resolve(PROGRAM), SOURCE);
        Requirements.require(
                CProgram.exitCode(program.toString(), "once") == 0,
                "prctl(PR_SET_MM)",
                "run a kernel with CONFIG_CHECKPOINT_RESTORE");
    }
}
