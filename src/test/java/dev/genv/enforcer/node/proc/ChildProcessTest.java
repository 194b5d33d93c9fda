package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class ChildProcessTest {
    private static final Duration LONG = TestTimeouts.HANG;
    private static final Duration SHORT = Duration.ofMillis(300);

    @TempDir
    Path folder;

    @Test
    void hasACleanEnvironment() throws Exception {
        assertThat(new ChildProcess("/usr/bin/env", LONG).run().stdout().text().lines())
                .containsExactlyInAnyOrder("PATH=" + ChildProcess.PATH, "LC_ALL=C", "GENV_BYPASS=1");
    }

    @Test
    void hasNoInputAndRunsInTheRootDirectory() throws Exception {
        assertThat(new ChildProcess(script("cat; pwd"), LONG).run().stdout().text())
                .isEqualTo("/\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"exec head -c 20000000 /dev/zero", "exec cat /dev/zero", "exec cat /dev/zero >&2"})
    void refusesOutputAboveTheMaximumSize(String command) throws IOException {
        var tool = new ChildProcess(script(command), LONG);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("printed more than 16777216 bytes");
    }

    @Test
    void readsMoreThanAPipeHolds() throws Exception {
        var output = new ChildProcess(script("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero"), LONG).run();
        assertThat(output.stdout().text()).hasSize(1_000_000);
        assertThat(output.stderr().text()).hasSize(1_000_000);
    }

    /** As at a stop of the service. */
    @Test
    void interruptKillsTheTool() throws Exception {
        var tool = new ChildProcess(script("echo $$ >\"$0.pid\"; exec sleep 600"), LONG);
        var cycle =
                Thread.ofPlatform().start(() -> assertThatThrownBy(tool::run).isInstanceOf(InterruptedException.class));
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(() -> Files.readString(folder.resolve("tool.pid")).strip(), written -> !written.isEmpty());
        cycle.interrupt();
        cycle.join();
        await().until(() -> ProcessHandle.of(Long.parseLong(pid)).isEmpty());
    }

    /**
     * A tool that closes its output has not exited. One that hangs in a child of its own must not leave one more behind at every look. It
     * is run until it came so far as to write a pid, which may take longer than it has.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "echo $$ >\"$0.pid\"; exec sleep 600",
                "echo $$ >\"$0.pid\"; exec >&- 2>&-; exec sleep 600",
                "sleep 600 & echo $! >\"$0.pid\"; wait",
            })
    void killsAHangingToolAndItsChildren(String commands) throws IOException {
        var tool = new ChildProcess(script(commands), SHORT);
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(
                        () -> {
                            assertThatThrownBy(tool::run)
                                    .isInstanceOf(ToolException.class)
                                    .hasMessageContaining("did not exit within 300 ms");
                            return Files.readString(folder.resolve("tool.pid")).strip();
                        },
                        written -> !written.isEmpty());
        await().until(() -> !ProcessHandle.of(Long.parseLong(pid))
                .map(ProcessHandle::isAlive)
                .orElse(false));
    }

    /** As in D state, where no signal reaches it. */
    @Test
    void startsNoOtherToolWhileAnUnkillableOneRuns() throws Exception {
        var unkillable = new Unkillable();
        var started = new AtomicInteger();
        var tool = new ChildProcess(
                script("echo well"), SHORT, builder -> started.getAndIncrement() == 0 ? unkillable : builder.start());
        assertThatThrownBy(tool::run).hasMessageContaining("did not exit within 300 ms");
        for (var observation = 0; observation < 3; observation++) {
            assertThatThrownBy(tool::run).hasMessageContaining("still hangs and cannot be terminated");
        }
        assertThat(started).hasValue(1);
        unkillable.alive = false;
        await().ignoreExceptions().until(() -> tool.run().stdout().text().equals("well\n"));
    }

    /** Its own end is not the end of its output: a child of its own may hold that open for ever. */
    @Test
    void doesNotWaitForChildrenThatKeepItsOutputOpen() throws Exception {
        var tool = new ChildProcess(script("sleep 600 & echo $! >>\"$0.pids\"; echo done; echo err >&2; exit 3"), LONG);
        var before = Thread.activeCount();
        try {
            for (var i = 0; i < 20; i++) {
                assertThat(tool.run()).isEqualTo(new ToolOutput(3, bytes("done\n"), bytes("err\n")));
            }
            await("nobody is left waiting").until(() -> Thread.activeCount() < before + 20);
        } finally {
            for (var pid : Files.readAllLines(folder.resolve("tool.pids"))) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
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

    private String script(String commands) throws IOException {
        var script = Files.writeString(folder.resolve("tool"), "#!/bin/sh\n" + commands + "\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"))
                .toString();
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.UTF_8));
    }
}
