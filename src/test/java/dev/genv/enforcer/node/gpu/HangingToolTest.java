package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.node.gpu.NvidiaSmi.ChildProcess;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A tool that does not exit, or whose children do not. */
@Timeout(600)
class HangingToolTest extends ChildProcessFixture {
    private static final Duration SHORT = Duration.ofMillis(300);

    @Test
    void interruptEndsTheWait() throws IOException {
        var tool = new ChildProcess(script("exec sleep 600"), LONG);
        Thread.currentThread().interrupt();
        assertThatThrownBy(tool::run).isInstanceOf(InterruptedException.class);
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

    @Test
    void killsAHangingTool() throws IOException {
        var tool = new ChildProcess(script("echo $$ >\"$0.pid\"; exec sleep 600"), SHORT);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("did not exit within 300 ms");
        assertKilled(tool);
    }

    /** Closing its output is not its end. */
    @Test
    void killsAHangingToolThatClosedItsOutput() throws IOException {
        var tool = new ChildProcess(script("echo $$ >\"$0.pid\"; exec >&- 2>&-; exec sleep 600"), SHORT);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("did not exit within 300 ms");
        assertKilled(tool);
    }

    /** Otherwise a tool that hangs in a child of its own leaves one more behind at every look. */
    @Test
    void killsTheChildrenOfTheTool() throws IOException {
        var tool = new ChildProcess(script("sleep 600 & echo $! >\"$0.pid\"; wait"), SHORT);
        assertKilled(tool);
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

    @Test
    void runsAgainAfterAKilledRun() throws Exception {
        var tool = new ChildProcess(script("[ -e \"$0.well\" ] || exec sleep 600; echo well"), SHORT);
        assertThatThrownBy(tool::run).isInstanceOf(ToolException.class);
        Files.createFile(folder.resolve("tool.well"));
        await().ignoreExceptions().until(() -> tool.run().stdout().text().equals("well\n"));
    }

    /** Its own end is not the end of its output: a child of its own may hold that open for ever. */
    @Test
    void doesNotWaitForChildrenThatKeepItsOutputOpen() throws Exception {
        var tool = new ChildProcess(script("sleep 600 & echo $! >>\"$0.pids\"; echo done; echo err >&2; exit 3"), LONG);
        var before = Thread.activeCount();
        try {
            for (var i = 0; i < 20; i++) {
                assertThat(tool.run()).isEqualTo(output(3, "done\n", "err\n"));
            }
            await("nobody is left waiting").until(() -> Thread.activeCount() < before + 20);
        } finally {
            for (var pid : Files.readAllLines(folder.resolve("tool.pids"))) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
    }

    /** It is run until it came so far as to write a pid, which may take longer than it has. */
    private void assertKilled(ChildProcess tool) {
        var pid = await().ignoreException(NoSuchFileException.class)
                .until(
                        () -> {
                            assertThatThrownBy(tool::run).isInstanceOf(ToolException.class);
                            return Files.readString(folder.resolve("tool.pid")).strip();
                        },
                        written -> !written.isEmpty());
        await().until(() -> !ProcessHandle.of(Long.parseLong(pid))
                .map(ProcessHandle::isAlive)
                .orElse(false));
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
