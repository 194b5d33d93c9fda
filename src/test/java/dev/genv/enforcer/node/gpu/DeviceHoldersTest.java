package dev.genv.enforcer.node.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The limit of time; {@code DeviceTableTest} has what both hands find. */
class DeviceHoldersTest {
    /** A user can have so many processes that there is no time for all. */
    @Test
    void examinesTheNewestProcessesIfThereIsNoTimeToListAll(@TempDir Path root) throws IOException {
        DeviceFileHolder.write(root, "GPU-5");
        for (var pid = 1; pid <= 20; pid++) {
            var process = new FakeProc(root).process(pid);
            Files.createSymbolicLink(Files.createDirectory(process.file("fd")).resolve("3"), DeviceFileHolder.FILE);
        }
        var time = new AtomicLong();
        var slow = new DeviceHolders(
                new ProcFs(root),
                new NvidiaDevices(root),
                () -> time.getAndAdd(Duration.ofMillis(80).toNanos()));
        var found = slow.search(Set.of());
        assertThat(found.pids()).isNotEmpty().isSubsetOf(20, 19, 18, 17, 16, 15);
        assertThat(found.incomplete()).isEqualTo("the time for the search was used up");
    }
}
