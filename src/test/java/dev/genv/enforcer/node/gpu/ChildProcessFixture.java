package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
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
}
