package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.observation.ProcessIdentity;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A real process that changes after it was read. It begins in environment a. */
@Timeout(600)
class KnownProgramsTest {
    /** It obeys the commands of its input, and answers each with a line. */
    private static final String SOURCE = """
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <unistd.h>

        static unsigned long field[64];

        static void look(void) {
            char stat[4096];
            FILE *file = fopen("/proc/self/stat", "r");
            stat[fread(stat, 1, sizeof stat - 1, file)] = 0;
            fclose(file);
            int number = 3;
            for (char *word = strtok(strrchr(stat, ')') + 2, " "); word; word = strtok(0, " "))
                field[number++] = strtoul(word, 0, 10);
        }

        /* Sets the addresses to those of the former program. */
        static int forge(char **addresses) {
            unsigned long to[7];
            for (int i = 0; i < 7; i++) to[i] = strtoul(addresses[i], 0, 10);
            struct prctl_mm_map map = {
                .start_code = field[26], .end_code = field[27], .start_stack = field[28], .exe_fd = -1,
                .start_data = to[0], .end_data = to[1], .start_brk = to[2], .brk = to[2],
                .arg_start = to[3], .arg_end = to[4], .env_start = to[5], .env_end = to[6]};
            return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
        }

        int main(int count, char **arguments) {
            setvbuf(stdout, 0, _IONBF, 0);
            look();
            puts(count == 8 && forge(arguments + 1) ? "denied" : "ready");
            char command[64], value[64];
            while (scanf("%63s %63s", command, value) == 2) {
                if (!strcmp(command, "overwrite")) {
                    memset((void *) field[50], *value, field[51] - field[50]);
                } else if (!strcmp(command, "uid")) {
                    if (setresuid(atoi(value), atoi(value), atoi(value))) return 1;
                } else {
                    char variable[128], text[7][32], *environment[] = {variable, 0}, *next[9] = {arguments[0]};
                    sprintf(variable, "GENV_ENVIRONMENT_ID=%s", value);
                    for (int i = 0; i < 7 && !strcmp(command, "forge"); i++) {
                        sprintf(text[i], "%lu", field[45 + i]);
                        next[1 + i] = text[i];
                    }
                    execve("/proc/self/exe", next, environment);
                    return 1;
                }
                puts("done");
            }
        }
        """;

    private final ProcessReader reader = new ProcessReader(new ProcFs(Path.of("/proc")));
    private final Path program;

    KnownProgramsTest(@TempDir Path folder) throws IOException {
        program = Programs.compile(folder.resolve("changes"), SOURCE);
    }

    /** The process, which the test commands. */
    private static final class Changing implements AutoCloseable {
        private final Process process;
        private final BufferedReader answers;

        Changing(List<String> command) throws IOException {
            var builder = new ProcessBuilder(command);
            builder.environment().clear();
            builder.environment().put("GENV_ENVIRONMENT_ID", "a");
            process = builder.start();
            answers = process.inputReader();
            assertThat(answers.readLine()).isEqualTo("ready");
        }

        int pid() {
            return Math.toIntExact(process.pid());
        }

        String order(String command) throws IOException {
            var input = process.outputWriter();
            input.write(command + "\n");
            input.flush();
            return String.valueOf(answers.readLine());
        }

        @Override
        public void close() throws IOException {
            process.destroyForcibly().onExit().join();
            answers.close();
        }
    }

    private Changing started() throws IOException {
        return new Changing(List.of(program.toString()));
    }

    private ProcessFacts read(Changing process) throws InterruptedException {
        return reader.readAll(List.of(process.pid()), List.of()).getFirst();
    }

    private static String environment(ProcessFacts facts) {
        return facts.environ() instanceof Reading.Value<EnvironFacts>(var environ)
                ? environ.wellFormed() ? environ.id().text() : "overwritten"
                : facts.environ().toString();
    }

    /** With random addresses, execve(2) alone changes what is not read again; the rest is. */
    @Test
    void environIsNotReadAgainWhileTheProgramRuns() throws Exception {
        try (var process = started()) {
            var first = read(process);
            assertThat(environment(first)).isEqualTo("a");
            assertThat(process.order("overwrite x")).isEqualTo("done");
            assertThat(environment(read(process))).isEqualTo("a");
            assertThat(environment(new ProcessReader(new ProcFs(Path.of("/proc"))).read(process.pid())))
                    .isEqualTo("overwritten");
            assertThat(read(process).executable()).isEqualTo(first.executable());
            assertThat(read(process).uidMap()).isEqualTo(first.uidMap());
        }
    }

    @Test
    void environThatWasOverwrittenBeforeIsReadEachTime() throws Exception {
        try (var process = started()) {
            process.order("overwrite x");
            assertThat(environment(read(process))).isEqualTo("overwritten");
            process.order("exec b");
            assertThat(environment(read(process))).isEqualTo("b");
        }
    }

    @Test
    void anotherProgramIsRead() throws Exception {
        try (var process = started()) {
            assertThat(environment(read(process))).isEqualTo("a");
            assertThat(process.order("exec b")).isEqualTo("ready");
            assertThat(environment(read(process))).isEqualTo("b");
        }
    }

    /** Each program of such a process has the same addresses. */
    @Test
    void withoutRandomAddressesEachEnvironIsRead() throws Exception {
        Requirements.program("/usr/bin/setarch", "util-linux");
        try (var process = new Changing(List.of("/usr/bin/setarch", "-R", program.toString()))) {
            process.order("exec a"); // from now on with the same arguments and variables
            assertThat(environment(read(process))).isEqualTo("a");
            process.order("exec b");
            assertThat(environment(read(process))).isEqualTo("b");
        }
    }

    /** Nobody gains by that: the process could have stayed in its environment without execve(2), too. */
    @Test
    void processThatForgesTheAddressesStaysWhereItWas() throws Exception {
        try (var process = started()) {
            assertThat(environment(read(process))).isEqualTo("a");
            var answer = process.order("forge b");
            Requirements.require(
                    answer.equals("ready"), "prctl(PR_SET_MM)", "run a kernel with CONFIG_CHECKPOINT_RESTORE");
            assertThat(environment(read(process))).isEqualTo("a");
        }
    }

    /** A protected program that others could change until now protects its processes as soon as they cannot. */
    @Test
    void executableIsReadAgainAfterAChangeOfItsRights() throws Exception {
        requireRoot();
        try (var process = started()) {
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxrwxrwx"));
            assertThat(read(process).executable()).isInstanceOf(Reading.Failed.class);
            assertThat(openFiles(process)).isEqualTo(3);
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
            assertThat(read(process).executable()).isInstanceOf(Reading.Value.class);
        }
    }

    private static void requireRoot() throws IOException {
        Requirements.require(
                Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0), "root", "run the test as root");
    }

    @Test
    void uidIsReadEachTime() throws Exception {
        requireRoot();
        try (var process = started()) {
            assertThat(read(process).uid()).isEqualTo(Reading.of(0L));
            assertThat(process.order("uid 61234")).isEqualTo("done");
            assertThat(read(process).uid()).isEqualTo(Reading.of(61_234L));
        }
    }

    @Test
    void closesTheFilesOfAProcessThatIsNoLongerListed() throws Exception {
        try (var process = started()) {
            read(process);
            assertThat(openFiles(process)).isEqualTo(3);
            reader.readAll(List.of(), List.of());
            assertThat(openFiles(process)).isZero();
            read(process);
            reader.close();
            assertThat(openFiles(process)).isZero();
        }
    }

    @Test
    void processThatHasExitedIsGone() throws Exception {
        var process = started();
        read(process);
        process.close();
        assertThat(ProcessIdentity.of(read(process))).isInstanceOf(ProcessIdentity.Gone.class);
        assertThat(openFiles(process)).isZero();
    }

    private static long openFiles(Changing process) throws IOException {
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(descriptor -> target(descriptor).startsWith("/proc/" + process.pid() + "/"))
                    .count();
        }
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException closed) {
            return "";
        }
    }
}
