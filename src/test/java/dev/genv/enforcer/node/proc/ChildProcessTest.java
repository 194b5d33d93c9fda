package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import dev.genv.enforcer.linux.SpawnedProcess;
import dev.genv.enforcer.node.proc.ChildProcess.Starter;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a program gets, what is read of it and how it is ended, in both ways to start it. ToolTableTest has what the agent does too. */
@Timeout(600)
@ParameterizedClass
@EnumSource
class ChildProcessTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final int SIGCHLD = 17;
    private static final int SIGURG = 23;
    private static final long SIG_DFL = 0;
    private static final long SIG_IGN = 1;
    private static final NativeFunction SIGNAL = NativeFunction.returningLong("signal");

    enum Way {
        POSIX_SPAWN,
        PROCESS_BUILDER
    }

    private final Way way;
    private final Path folder;

    ChildProcessTest(Way way, @TempDir Path folder) {
        this.way = way;
        this.folder = folder;
    }

    private Path program() {
        return folder.resolve("tool");
    }

    private Starter starter() {
        if (way == Way.PROCESS_BUILDER) {
            return Starter.PROCESS_BUILDER;
        }
        assumeThat(SpawnedProcess.isSupported()).as("glibc 2.34 or later").isTrue();
        return Starter.POSIX_SPAWN;
    }

    private ChildProcess tool(String program, Duration timeout) {
        return new ChildProcess(program, timeout, starter());
    }

    private ChildProcess script(Duration timeout, String commands) throws IOException {
        Programs.install(program(), "#!/bin/sh\n" + commands + "\n");
        return tool(program().toString(), timeout);
    }

    private ToolOutput run(String commands) throws Exception {
        return script(TestTimeouts.HANG, commands).run();
    }

    private String written(String suffix) throws IOException {
        return Files.readString(folder.resolve("tool." + suffix)).strip();
    }

    private List<String> linesOf(String program, String... arguments) throws Exception {
        var output = tool(program, TestTimeouts.HANG).run(arguments);
        assertThat(output.exitCode()).as(output.stderr().text()).isZero();
        return output.stdout().text().lines().toList();
    }

    @Test
    void hasOnlyTheseVariablesFilesAndArguments() throws Exception {
        assertThat(linesOf("env")).containsExactlyInAnyOrder("PATH=" + ChildProcess.PATH, "LC_ALL=C", "GENV_BYPASS=1");
        assertThat(linesOf("printf", "%s\n", "a b", "", "$x", "*")).containsExactly("a b", "", "$x", "*");
        assertThat(linesOf("readlink", "/proc/self/cwd", "/proc/self/fd/0")).containsExactly("/", "/dev/null");
        // Whatever opened it, the child would inherit it.
        try (var inherited = new Descriptor((int) NativeFunction.of("dup").call(2))) {
            assertThat(linesOf("ls", "/proc/self/fd"))
                    .as("3 is the directory, beside %s", inherited.number())
                    .containsExactly("0", "1", "2", "3");
        }
    }

    @Test
    void inheritsNoSignalsAndHasItsOwnSession() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        SIGNAL.call(SIGURG, SIG_IGN);
        try {
            assertThat(linesOf("cat", "/proc/self/status"))
                    .contains("SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000");
        } finally {
            SIGNAL.call(SIGURG, SIG_DFL);
        }
        var stat = linesOf("cat", "/proc/self/stat").getFirst().split(" ", -1);
        assertThat(stat[4]).as("process group").isEqualTo(stat[0]);
        assertThat(stat[5]).as("session").isEqualTo(stat[0]);
    }

    /** Java would use the encoding of the service's locale. */
    @Test
    void passesArgumentsInUtf8() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        assertThat(linesOf("echo", "ä€😀")).containsExactly("ä€😀");
    }

    @Test
    void refusesAZeroByteInAnArgument() {
        assertThatThrownBy(() -> linesOf("echo", "alice\0bob"))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("echo cannot be run: ");
    }

    /** It was a program when it was found. */
    @ParameterizedTest
    @CsvSource({
        "rm tool, No such file or directory",
        "chmod 0 tool, Permission denied",
        "rm tool; mkdir tool, Permission denied",
        "echo '#!/no/such/interpreter' >tool, No such file or directory",
        "rm tool; ln -s tool tool, Too many levels of symbolic links",
    })
    void reportsWhyItCannotBeRun(String commands, String why) throws Exception {
        var tool = script(TestTimeouts.HANG, "exit 0");
        tool.run();
        Programs.shell(folder, commands);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageStartingWith(program() + " cannot be run: ")
                .hasMessageContaining(why);
    }

    /** Java runs it by a shell. */
    @Test
    void scriptWithoutAnInterpreterIsNoProgram() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        Programs.install(program(), "echo by a shell\n");
        assertThatThrownBy(() -> tool(program().toString(), TestTimeouts.HANG).run())
                .hasMessage(program() + " cannot be run: Exec format error");
    }

    @ParameterizedTest
    @CsvSource({"exit 0, 0", "exit 3, 3", "exit 255, 255", "kill -9 $$, 137", "kill -TERM $$, 143", "kill -SEGV $$, 139"
    })
    void returnsTheExitCodeAsAShellDoes(String commands, int code) throws Exception {
        var output = run("echo out; echo err >&2; " + commands);
        assertThat(output.exitCode()).isEqualTo(code);
        assertThat(output.stdout().text()).isEqualTo("out\n");
        assertThat(output.stderr().text()).isEqualTo("err\n");
    }

    @Test
    void readsSlowAndLargeOutputAndRefusesTooMuch() throws Exception {
        var slow = run("for i in 1 2 3 4; do echo $i; sleep 0.2; done; exec >&- 2>&-; sleep 0.2");
        assertThat(slow.stdout().text()).isEqualTo("1\n2\n3\n4\n");
        var large = run("head -c 1000000 /dev/zero >&2; head -c 16777216 /dev/zero; exit 3");
        assertThat(large.exitCode()).isEqualTo(3);
        assertThat(large.stdout().length()).isEqualTo(16 << 20);
        assertThat(large.stderr().length()).isEqualTo(1_000_000);
        for (var much : List.of("head -c 16777217 /dev/zero", "exec cat /dev/zero", "exec cat /dev/zero >&2")) {
            assertThatThrownBy(() -> run(much)).as(much).hasMessageContaining("printed more than 16777216 bytes");
        }
    }

    /** A child of its own may hold its output open for ever. */
    @Test
    void doesNotWaitForTheEndOfItsOutput() throws Exception {
        var output = run("sleep 600 & echo $! >$0.pid; echo done; exit 3");
        ProcessHandle.of(Long.parseLong(written("pid"))).ifPresent(ProcessHandle::destroyForcibly);
        assertThat(output.exitCode()).isEqualTo(3);
        assertThat(output.stdout().text()).isEqualTo("done\n");
    }

    /** It may be killed before it has written a pid. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo $$ >$0.pid; exec sleep 600",
                "exec >&- 2>&-; echo $$ >$0.pid; exec sleep 600",
                "trap '' TERM HUP INT; echo $$ >$0.pid; while :; do sleep 1; done",
                "sleep 600 & echo $! >$0.pid; wait",
                "setsid sleep 600 & echo $! >$0.pid; wait",
            })
    void killsAHangingProgramAndItsChildren(String commands) throws Exception {
        assertKills(commands);
    }

    /** Nobody knows any longer whose child it was. */
    @Test
    void killsAHangingGrandchildWhoseParentHasExited() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        assertKills("(sleep 600 & echo $! >$0.pid); exec sleep 600");
    }

    private void assertKills(String commands) throws Exception {
        var tool = script(SHORT, commands);
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(
                        () -> {
                            assertThatThrownBy(tool::run).hasMessage("%s did not exit within 300 ms", program());
                            return written("pid");
                        },
                        pidText -> !pidText.isEmpty());
        await().until(() -> !isRunning(pid));
    }

    private static boolean isRunning(String pid) throws IOException {
        try {
            return !Files.readString(Path.of("/proc", pid, "stat")).contains(") Z ");
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** As at a stop of the service. */
    @Test
    void interruptKillsIt() throws Exception {
        var tool = script(TestTimeouts.HANG, "echo $$ >\"$0.pid\"; exec sleep 600");
        var cycle =
                Thread.ofPlatform().start(() -> assertThatThrownBy(tool::run).isInstanceOf(InterruptedException.class));
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(() -> written("pid"), pidText -> !pidText.isEmpty());
        cycle.interrupt();
        cycle.join();
        await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
    }

    @Test
    void leavesNeitherFilesNorZombies() throws Exception {
        var before = pipesAndPidfds();
        var normal = script(TestTimeouts.HANG, "echo out; exit 3");
        for (var run = 0; run < 200; run++) {
            assertThat(normal.run().exitCode()).isEqualTo(3);
        }
        Files.delete(program());
        for (var run = 0; run < 20; run++) {
            assertThatThrownBy(normal::run).hasMessageContaining("cannot be run");
        }
        for (var run = 0; run < 5; run++) {
            var hanging = script(Duration.ofMillis(1), "exec sleep 600");
            assertThatThrownBy(hanging::run).hasMessageContaining("did not exit");
            assertThatThrownBy(() -> run("exec cat /dev/zero")).hasMessageContaining("printed more");
        }
        // Java closes and waits on another thread.
        await().until(() -> pipesAndPidfds().equals(before));
        await().until(() -> zombies().isEmpty());
    }

    private static List<String> pipesAndPidfds() throws IOException {
        var links = new ArrayList<String>();
        try (var files = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (var file : files) {
                try {
                    var link = Files.readSymbolicLink(file).toString();
                    if (link.startsWith("pipe:") || link.contains("pidfd")) {
                        links.add(file + " " + link);
                    }
                } catch (NoSuchFileException e) {
                    // another thread closed it
                }
            }
        }
        return links.stream().sorted().toList();
    }

    private static List<String> zombies() throws IOException {
        var own = " Z " + ProcessHandle.current().pid() + " ";
        var found = new ArrayList<String>();
        try (var processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (var process : processes) {
                try {
                    var stat = Files.readString(process.resolve("stat"));
                    if (stat.substring(stat.lastIndexOf(')') + 1).startsWith(own)) {
                        found.add(stat);
                    }
                } catch (IOException e) {
                    // it has ended
                }
            }
        }
        return found;
    }

    /** The kernel then forgets a child when it exits, and its pid can be that of another process. */
    @Test
    void waitsForItAlthoughTheServiceInheritedThatTheExitOfChildrenIsIgnored() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        SIGNAL.call(SIGCHLD, SIG_IGN);
        try {
            assertThat(run("exit 3").exitCode()).isEqualTo(3);
        } finally {
            SIGNAL.call(SIGCHLD, SIG_DFL);
        }
    }

    /** Its exit code is not known then, and no process may be killed by its pid. */
    @Test
    void failsIfOtherCodeHasWaitedForIt() throws Exception {
        assumeThat(way).isEqualTo(Way.POSIX_SPAWN);
        Programs.install(program(), "#!/bin/sh\necho $$ >$0.pid\n");
        var tool = new ChildProcess(program().toString(), TestTimeouts.HANG, command -> {
            var process = starter().start(command);
            var pid = await().ignoreException(NoSuchFileException.class)
                    .until(() -> written("pid"), pidText -> !pidText.isEmpty());
            var waitpid = NativeFunction.of("waitpid");
            waitpid.call(Integer.parseInt(pid), 0, 0);
            return process;
        });
        for (var observation = 0; observation < 2; observation++) {
            assertThatThrownBy(tool::run)
                    .isInstanceOf(ToolException.class)
                    .hasMessageContaining("cannot be read: the exit code of process ");
            Files.delete(folder.resolve("tool.pid"));
        }
    }

    /** As in D state, where no signal reaches it. */
    @Test
    void startsNoOtherWhileAnUnkillableOneRuns() throws Exception {
        var unkillable = new Unkillable();
        var started = new AtomicInteger();
        Programs.install(program(), "#!/bin/sh\necho well\n");
        var tool = new ChildProcess(
                program().toString(),
                SHORT,
                command ->
                        started.getAndIncrement() == 0 ? unkillable : starter().start(command));
        assertThatThrownBy(tool::run).hasMessageContaining("did not exit within 300 ms");
        for (var observation = 0; observation < 3; observation++) {
            assertThatThrownBy(tool::run).hasMessageContaining("still hangs and cannot be terminated");
        }
        assertThat(started).hasValue(1);
        unkillable.alive = false;
        await().ignoreExceptions().until(() -> tool.run().stdout().text().equals("well\n"));
    }

    /** A process that outlives every signal. */
    private static final class Unkillable extends Process {
        private boolean alive = true;

        @Override
        public OutputStream getOutputStream() {
            return OutputStream.nullOutputStream();
        }

        @Override
        public InputStream getInputStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public InputStream getErrorStream() {
            return InputStream.nullInputStream();
        }

        @Override
        public int waitFor() {
            throw new UnsupportedOperationException("nobody may wait for ever");
        }

        @Override
        public boolean waitFor(long timeout, TimeUnit unit) {
            return !alive;
        }

        @Override
        public boolean isAlive() {
            return alive;
        }

        @Override
        public int exitValue() {
            return 0;
        }

        @Override
        public void destroy() {
            // no signal reaches it
        }

        @Override
        public Stream<ProcessHandle> descendants() {
            return Stream.empty();
        }
    }
}
