package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The output of the packaged program contains no control characters of users' names. */
class HostileTextIT extends NodeSuite {
    private static final String EVIL = "\u001b[2J\u0007\r\nProcess 1 was never here\t\u007f\"' %n%s\\";

    @Test
    void outputIsPrintableText() throws IOException {
        var eid = EVIL + "x".repeat(4096 - EVIL.length());
        var name = Files.createSymbolicLink(directory.resolve("\u001b[1m\nevil"), Path.of("/bin/sleep"));
        try (var shell = Child.withEnvironment(Map.of());
                var job = Child.running(List.of(name.toString(), "600"), Map.of("GENV_ENVIRONMENT_ID", eid));
                var stray = Child.withEnvironment(Map.of("GENV_ENVIRONMENT_ID", "\u001b]0;title\u0007"))) {
            node.state
                    .env(eid, 7, "\u202e" + EVIL, EVIL, shell.pid())
                    .env("b", 7, "\u009b31m", "\u001b", shell.pid())
                    .device(0, eid)
                    .device(1)
                    .device(2)
                    .write();
            node.gpus.process(0, job.pid(), "10").process(1, job.pid(), "10").process(2, stray.pid(), "10");
            node.gpus.process("GPU-\u001b[2J", Integer.toString(stray.pid()), "\u001b[2J");
            node.gpus.process("GPU-0", "\u001b[2J", "1");

            var output = node.set("MODE", "audit")
                    .set("INACTIVE_ENV_PROCESSES", "audit")
                    .set("MAX_DEVICES_PER_USER", 0)
                    .runOnce();

            assertThat(output.out()).hasSizeGreaterThan(3);
            assertThat(output.log()).hasSizeGreaterThan(output.out().size());
            assertThat(Stream.concat(output.out().stream(), output.log().stream()))
                    .allSatisfy(line -> assertThat(line)
                            .doesNotContainPattern("\\p{Cntrl}|[\\u0080-\\u009f\\u200b-\\u200f\\u2028-\\u202e]")
                            .doesNotStartWith("Process 1 was")
                            .hasSizeLessThan(8_000));
            assertThat(String.join("\n", output.log())).contains("\\u001b[2J");
        }
    }
}
