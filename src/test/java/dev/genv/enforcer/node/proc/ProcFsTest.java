package dev.genv.enforcer.node.proc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.format.Environ;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.testsupport.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProcFsTest {
    private final FakeProc fake;
    private final ProcFs proc;

    ProcFsTest(@TempDir Path folder) {
        fake = new FakeProc(folder);
        proc = new ProcFs(folder);
    }

    @Test
    void existsOnlyForRunningPids() throws IOException {
        fake.process(812);
        assertThat(proc.exists(812)).isTrue();
        assertThat(proc.exists(813)).isFalse();
        assertThat(proc.exists(0)).isFalse();
        assertThat(proc.exists(-812)).isFalse();
        assertThat(proc.stat(813)).isEmpty();
    }

    @Test
    void listsNothingButPids() throws IOException {
        fake.process(1);
        fake.process(812);
        for (var other : new String[] {"self", "sys", "0", "007", "12x"}) {
            Files.createDirectory(fake.root().resolve(other));
        }
        assertThat(proc.pids()).containsExactlyInAnyOrder(1, 812);
    }

    @Test
    void readsTheRealUid() throws IOException {
        fake.process(812).uid(4294967294L);
        assertThat(proc.realUid(812)).isEqualTo(4294967294L);
    }

    @Test
    void missingProcessHasNoArguments() throws IOException {
        fake.process(812).arguments("python", "a b", "");
        assertThat(proc.arguments(new ProcessId(812, 1000), 1000, 100))
                .asString()
                .isEqualTo("python\0a b\0\0");
        assertThat(proc.arguments(new ProcessId(812, 1000), 1000, 3)).asString().isEqualTo("pyt");
        assertThat(proc.arguments(new ProcessId(813, 1000), 1000, 100)).isEmpty();
    }

    /** A kernel whose arguments could not be read is not a kernel that has ended. */
    @Test
    void unreadableArgumentsAreAnError() throws IOException {
        fake.process(812);
        Files.deleteIfExists(fake.root().resolve("812/cmdline"));
        Files.createDirectory(fake.root().resolve("812/cmdline"));
        assertThatThrownBy(() -> proc.arguments(new ProcessId(812, 1000), 1000, 100))
                .isInstanceOf(IOException.class);
    }

    @Test
    void readsALargeEnvironmentCompletely() throws IOException {
        var big = "A".repeat(3 << 20);
        fake.process(812).environ(big, "GENV_ENVIRONMENT_ID=15971");
        assertThat(Environ.membership(proc.environ(new ProcessId(812, 1000), 1000))
                        .toString())
                .contains("15971");
        assertThat(proc.environ(new ProcessId(812, 1000), 1000)).hasSize(big.length() + 1 + 26);
    }

    @ParameterizedTest
    @CsvSource({
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023, 535.129.03",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (dvs-builder), 550.54.15",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95.05  Release Build, 580.95.05",
        "something else,",
    })
    void readsTheDriversVersion(String line, String version) throws IOException {
        fake.writeDriver(line + "\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");
        assertThat(proc.machine().driverVersion()).isEqualTo(version);
    }

    @Test
    void withoutADriverThereIsNoVersion() {
        assertThat(proc.machine().driverVersion()).isNull();
    }
}
