package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.fake.FakeNvml;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.nio.file.Path;
import java.util.List;
import java.util.Scanner;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Readings leave no native memory, no open file and no library behind. */
@Timeout(600)
class NvmlMemoryTest {
    private static final int SOME_KIBIBYTES = 512;
    private static final int SOME_FILES = 10;

    @Tag("long")
    @Test
    void tenThousandReadingsLeaveNothingBehind(@TempDir Path folder) throws Exception {
        var nvml = new FakeNvml(folder).gpus(2).line("cached").line("mig 1 7").line("instance 1 3 2 0");
        for (var pid = 1; pid <= 100; pid++) { // more than fit into the first buffer
            nvml.process(0, pid, 1000)
                    .line("process 1 c %d 1000 2 0".formatted(pid))
                    .line("sample 0 %d 1 50".formatted(pid));
        }
        try (var output = new Scanner(Programs.run(manyReadings(nvml)))) {
            assertThat(output.next()).isEqualTo("memory");
            assertThat(output.nextInt()).as("KiB of native memory").isLessThan(SOME_KIBIBYTES);
            assertThat(output.next()).isEqualTo("files");
            assertThat(output.nextInt()).as("open files").isLessThan(SOME_FILES);
            assertThat(output.next()).isEqualTo("mapped");
            assertThat(output.nextBoolean()).as("loaded after the end").isFalse();
        }
    }

    private static String[] manyReadings(FakeNvml nvml) {
        return List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:NativeMemoryTracking=summary",
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ManyReadings.class.getName(),
                        nvml.path().toString())
                .toArray(String[]::new);
    }
}
