package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
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

/** A tool that is interrupted or cannot be killed; {@code ToolTableTest} has what both hands do. */
@Timeout(600)
class ChildProcessTest {
    private static final Duration LONG = TestTimeouts.HANG;
    private static final Duration SHORT = Duration.ofMillis(300);

    @TempDir
    Path folder;

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
}
