package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.io.TempDir;

/** Runs scripts as tools. */
abstract class ChildProcessFixture {
    static final Duration LONG = TestTimeouts.HANG;

    @TempDir
    Path folder;

    Path script(String commands) throws IOException {
        var script = Files.writeString(folder.resolve("tool"), "#!/bin/sh\n" + commands + "\n");
        return Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    static ToolOutput output(int exitCode, String stdout, String stderr) {
        return new ToolOutput(exitCode, bytes(stdout), bytes(stderr));
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.UTF_8));
    }
}
