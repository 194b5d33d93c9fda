package dev.genv.enforcer.remote.agent.python.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The agent reports what is at the path of the state directory, and who acts on it. */
@Timeout(600)
class PythonDirectoryTest extends PythonStateFixture {
    @Test
    void reportsStatePathThatIsNoDirectory() throws Exception {
        var elsewhere = folder.resolve("elsewhere");
        Files.move(machine.state, elsewhere);
        assertThat(machine.observe().at("/state/directory").has("absent")).isTrue();
        Files.createSymbolicLink(machine.state, elsewhere);
        assertUnreadableDirectory("is a symbolic link");
        machine.request.put("state", machine.state + "/");
        assertUnreadableDirectory("is a symbolic link");
        machine.request.put("state", machine.state.toString());
        Files.delete(machine.state);
        Files.createSymbolicLink(machine.state, folder.resolve("nowhere"));
        assertUnreadableDirectory("is a symbolic link");
        Files.delete(machine.state);
        Files.createFile(machine.state);
        assertUnreadableDirectory("is not a directory");
        machine.request.put("state", machine.state.resolve("below").toString());
        assertUnreadableDirectory("is not a directory");
        assertThat(machine.observe().at("/access/stateIsWritable").asBoolean()).isTrue();
    }

    private void assertUnreadableDirectory(String why) throws Exception {
        var state = machine.observe().get("state");
        assertThat(state.at("/directory/unreadable/reason").asText()).isEqualTo(why);
        assertThat(state.at("/lock/outcome").asText()).isEqualTo("NOT_ATTEMPTED");
        assertThat(state.at("/envs").has("absent")).isTrue();
    }

    /** Nothing in it is accessed: the file system may not answer, and a process that waits for it cannot be terminated. */
    @Test
    void doesNotReadFileSystemMountedByAUser() throws Exception {
        var proc = machine.useFakeProc(folder.resolve("proc"));
        var above = folder.toString();
        for (var point : List.of(machine.state.toString(), machine.state + "/envs.json", above)) {
            proc.mounts(
                    "self",
                    "22 1 254:0 / / rw,relatime - ext4 /dev/root rw,user_id=7",
                    "63 22 0:39 / %s rw,relatime shared:1 - fuse.sshfs x:/user_id=0 rw,user_id=61002,group_id=7"
                            .formatted(point.replace("g", "\\147")));
            var mount = machine.observe().at("/state/directory/userMount");
            assertThat(mount.get("uid").asInt()).isEqualTo(61002);
            assertThat(mount.get("type").asText()).isEqualTo("fuse.sshfs");
            assertThat(mount.get("point").asText()).isEqualTo(point);
        }
        proc.mounts(
                "self",
                "62 22 0:38 / %s rw - fuse.sshfs x rw,user_id=61002,group_id=0".formatted(above),
                "63 22 0:39 / %s rw,relatime - fuse.glusterfs x rw,user_id=0,group_id=0".formatted(machine.state),
                "64 22 0:40 / %s2 rw,relatime - fuse.sshfs x rw,user_id=61002,group_id=0".formatted(machine.state),
                "garbage",
                "");
        assertComplete();
        var link = Files.createSymbolicLink(folder.resolve("link"), Files.createDirectory(folder.resolve("real")));
        proc.mounts("self", "64 22 0:40 / %s/real/genv rw - fuse x rw,user_id=61002".formatted(folder));
        machine.request.put("state", link.resolve("genv").toString());
        assertThat(machine.observe().at("/state/directory").has("userMount")).isTrue();
    }

    @Test
    void reportsAnotherDirectoryAtTheSamePath() throws Exception {
        var former = assertComplete().get("directory");
        assertThat(machine.observe().at("/state/directory")).isEqualTo(former);
        Files.move(machine.state, folder.resolve("elsewhere"));
        Files.createDirectory(machine.state);
        var state = machine.observe().get("state");
        assertThat(state.at("/directory")).isNotEqualTo(former);
        assertThat(state.at("/envs").has("absent")).isTrue();
    }

    @Test
    void reportsTheEnforcerOfTheMachine() throws Exception {
        var mark = enforcerLock("genv-enforcer of directory %s\n");
        assertThat(machine.observe().at("/enforcers/other").isNull()).isTrue();
        try (var _ = RealFlock.take(mark)) {
            assertThat(machine.observe().at("/enforcers/other/onMachine/pid").asLong())
                    .isEqualTo(ProcessHandle.current().pid());
            machine.request.put("acts", false);
            assertThat(machine.observe().at("/enforcers/other").isNull()).isTrue();
        }
    }

    /** Any user can create such a file, or move that of another directory here. */
    @Test
    void ignoresInvalidEnforcerLock() throws Exception {
        var mark = enforcerLock("genv-enforcer of directory 1%s\n");
        try (var _ = RealFlock.take(mark)) {
            assertThat(hasEnforcer()).isFalse();
            enforcerLock("genv-enforcer of directory %s\n");
            assertThat(hasEnforcer()).isTrue();
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-rw----"));
            assertThat(hasEnforcer()).isFalse();
            Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
            Files.createLink(folder.resolve("other"), mark);
            assertThat(hasEnforcer()).isFalse();
            Files.delete(folder.resolve("other"));
            if (CurrentProcess.isRoot()) {
                Files.setAttribute(mark, "unix:uid", 65534);
                assertThat(hasEnforcer()).isFalse();
            }
        }
    }

    private boolean hasEnforcer() throws Exception {
        assertComplete();
        return machine.observe().at("/enforcers/other").has("onMachine");
    }

    private Path enforcerLock(String content) throws IOException {
        var mark = machine.state.resolve(".genv-enforcer.lock");
        Files.writeString(mark, content.formatted(Files.getAttribute(machine.state, "unix:ino")));
        return Files.setPosixFilePermissions(mark, PosixFilePermissions.fromString("rw-------"));
    }
}
