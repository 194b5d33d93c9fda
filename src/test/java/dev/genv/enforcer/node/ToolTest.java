package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.observation.ToolException;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class ToolTest {
    private static final Duration LONG = TestTimeouts.HANG;
    private static final Duration SHORT = Duration.ofMillis(300);
    private final Path folder;

    ToolTest(@TempDir Path folder) {
        this.folder = folder;
    }

    @Test
    void hasACleanEnvironment() throws Exception {
        assertThat(new Tool(Path.of("/usr/bin/env"), LONG).run().stdout().lines())
                .containsExactlyInAnyOrder("PATH=" + Tool.PATH, "LC_ALL=C", "GENV_BYPASS=1");
    }

    @Test
    void getsItsArgumentsWithoutAShell() throws Exception {
        var output = new Tool(script("printf '%s\\n' \"$@\""), LONG).run("a b", "$HOME; *", "");
        assertThat(output.stdout()).isEqualTo("a b\n$HOME; *\n\n");
    }

    @Test
    void hasNothingToReadAndIsAtTheRoot() throws Exception {
        assertThat(new Tool(script("cat; pwd"), LONG).run().stdout()).isEqualTo("/\n");
    }

    @Test
    void tellsHowItEndedAndWhatItSaid() throws Exception {
        assertThat(new Tool(script("echo out; echo err >&2; exit 9"), LONG).run())
                .isEqualTo(new Tool.Output(9, "out\n", "err\n"));
    }

    @Test
    void endsWhatDoesNotEnd() throws IOException {
        var tool = new Tool(script("echo $$ >\"$0.pid\"; exec sleep 600"), SHORT);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("did not end within 300 ms");
        assertThatItIsEnded(tool);
    }

    /** Closing its output is not its end. */
    @Test
    void whatClosesItsOutputAndLingersIsEnded() throws IOException {
        var tool = new Tool(script("echo $$ >\"$0.pid\"; exec >&- 2>&-; exec sleep 600"), SHORT);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("did not end within 300 ms");
        assertThatItIsEnded(tool);
    }

    /** Otherwise a tool that hangs in a child of its own leaves one more behind at every look. */
    @Test
    void endsWhatTheToolHasStartedToo() throws IOException {
        var tool = new Tool(script("sleep 600 & echo $! >\"$0.pid\"; wait"), SHORT);
        assertThatItIsEnded(tool);
    }

    /** It is run until it came so far as to write a pid, which may take longer than it has. */
    private void assertThatItIsEnded(Tool tool) {
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

    /** As in D state, where no signal reaches it. */
    @Test
    void oneThatCannotBeEndedStaysTheOnlyOne() throws Exception {
        var unkillable = new Unkillable();
        var started = new AtomicInteger();
        var tool = new Tool(
                script("echo well"), SHORT, builder -> started.getAndIncrement() == 0 ? unkillable : builder.start());
        assertThatThrownBy(tool::run).hasMessageContaining("did not end within 300 ms");
        for (var look = 0; look < 3; look++) {
            assertThatThrownBy(tool::run).hasMessageContaining("still hangs and cannot be ended");
        }
        assertThat(started).hasValue(1);
        unkillable.alive = false;
        await().ignoreExceptions().until(() -> tool.run().stdout().equals("well\n"));
    }

    @Test
    void runsAgainAfterOneThatWasEnded() throws Exception {
        var tool = new Tool(script("[ -e \"$0.well\" ] || exec sleep 600; echo well"), SHORT);
        assertThatThrownBy(tool::run).isInstanceOf(ToolException.class);
        Files.createFile(folder.resolve("tool.well"));
        await().ignoreExceptions().until(() -> tool.run().stdout().equals("well\n"));
    }

    /** Its own end is not the end of its output: a child of its own may hold that open for ever. */
    @Test
    void doesNotWaitForWhoeverKeepsItsOutputOpen() throws Exception {
        var tool = new Tool(script("sleep 600 & echo $! >>\"$0.pids\"; echo done; echo err >&2; exit 3"), LONG);
        var before = Thread.activeCount();
        try {
            for (var i = 0; i < 20; i++) {
                assertThat(tool.run()).isEqualTo(new Tool.Output(3, "done\n", "err\n"));
            }
            await("nobody is left waiting").until(() -> Thread.activeCount() < before + 20);
        } finally {
            for (var pid : Files.readAllLines(folder.resolve("tool.pids"))) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"exec head -c 20000000 /dev/zero", "exec cat /dev/zero", "exec cat /dev/zero >&2"})
    void refusesToReadMegabytes(String command) throws IOException {
        var tool = new Tool(script(command), LONG);
        assertThatThrownBy(tool::run)
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("says more than 16777216 bytes");
    }

    @Test
    void readsMoreThanAPipeHolds() throws Exception {
        var output = new Tool(script("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero"), LONG).run();
        assertThat(output.stdout()).hasSize(1_000_000);
        assertThat(output.stderr()).hasSize(1_000_000);
    }

    @Test
    void aMissingProgramIsNamed() {
        assertThatThrownBy(() -> new Tool(folder.resolve("absent"), LONG).run())
                .isInstanceOf(ToolException.class)
                .hasMessageContainingAll(folder.resolve("absent").toString(), "cannot be run");
    }

    private Path script(String commands) throws IOException {
        var script = Files.writeString(folder.resolve("tool"), "#!/bin/sh\n" + commands + "\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
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
