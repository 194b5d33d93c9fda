package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.HangingMount;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MountWatchTest {
    private static final long USER = 61002;

    @TempDir
    private Path folder;

    @Test
    void findsMountsOfUsersInARealNamespace() throws Exception {
        Requirements.root();
        Requirements.mounts(HangingMount.reasonUnavailable().isEmpty());
        var entered = folder.resolve("entered");
        var command = List.of("unshare", "--mount", "sh", "-c", ": >\"$1\"; exec sleep 600", "sh", entered.toString());
        try (var namespace = Child.running(command, Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"))) {
            await().until(() -> Files.exists(entered));
            var pid = namespace.pid();
            var point = Files.createDirectories(folder.resolve("above/point"));
            var other = Files.createDirectory(folder.resolve("other"));
            try (var watch = new MountWatch(Path.of("/proc", Integer.toString(pid), "mountinfo"))) {
                assertThat(watch.linesIfUsersMount()).isEmpty();
                assertThat(watch.linesIfUsersMount()).isEmpty();
                inNamespace(pid, "mount", "-t", "tmpfs", "none", other.toString());
                assertThat(watch.linesIfUsersMount()).isEmpty();
                try (var _ = HangingMount.mount(point, pid, USER)) {
                    assertShown(watch, point);
                    inNamespace(pid, "umount", other.toString());
                    assertShown(watch, point);
                    // The kernel reports no event for it.
                    Files.move(folder.resolve("above"), folder.resolve("renamed"));
                    assertShown(watch, folder.resolve("renamed/point"));
                    Files.move(folder.resolve("renamed"), folder.resolve("above"));
                }
                assertThat(watch.linesIfUsersMount()).isEmpty();
                try (var _ = HangingMount.mount(point, pid, USER)) {
                    assertShown(watch, point);
                }
            }
        }
    }

    private static void assertShown(MountWatch watch, Path point) throws IOException {
        for (var time = 0; time < 2; time++) {
            assertThat(watch.linesIfUsersMount())
                    .filteredOn(line -> line.contains("user_id=" + USER))
                    .singleElement()
                    .asString()
                    .contains(" " + point + " ");
        }
    }

    private static void inNamespace(int pid, String... command) throws IOException {
        var whole = new ArrayList<>(List.of("nsenter", "-t", Integer.toString(pid), "-m"));
        whole.addAll(List.of(command));
        Programs.run(whole.toArray(String[]::new));
    }

    /** Such a file reports no change. */
    @Test
    void readsAFileThatTheKernelDoesNotMakeEachTime() throws IOException {
        var file = Files.writeString(folder.resolve("mountinfo"), "22 1 254:0 / / rw - ext4 /dev/root rw\n");
        try (var watch = new MountWatch(file)) {
            assertThat(watch.linesIfUsersMount()).isEmpty();
            var line = "63 22 0:39 / /x rw - fuse x rw,user_id=" + USER;
            Files.writeString(file, line + "\n");
            assertThat(watch.linesIfUsersMount()).containsExactly(line);
            Files.delete(file);
            assertThatThrownBy(watch::linesIfUsersMount)
                    .isInstanceOfSatisfying(
                            Errno.class, e -> assertThat(e.is(Errno.ENOENT)).isTrue());
        }
    }
}
