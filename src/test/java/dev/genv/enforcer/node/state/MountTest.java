package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.node.state.StateAccess.Mount;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MountTest {
    private static final Path STATE = Path.of("/var/tmp/genv");
    private static final long OWN = 7;
    private static final String ROOT = "22 1 254:0 / / rw,relatime - ext4 /dev/root rw";
    private static final List<String> LINES = List.of(
            "22 1 254:0 / / rw,relatime - ext4 /dev/root rw",
            "36 22 98:0 /srv/old /var/tmp/genv rw,noatime master:1 - ext3 /dev/sda rw,errors=continue",
            "37 22 98:0 /srv/a\\040b\\134c /var/tmp/genv rw,noatime - ext3 /dev/sda rw",
            "38 22 0:5 / /var/tmp/genv2 rw - tmpfs tmpfs rw");

    @Test
    void innermostAndLastMountContainsAPath() {
        assertThat(Mount.of(LINES, Path.of("/var/tmp/genv/x")))
                .hasValue(new Mount("98:0", Path.of("/srv/a b\\c"), Path.of("/var/tmp/genv"), "ext3", "rw"));
        assertThat(Mount.of(LINES, Path.of("/var/tmp/other")))
                .hasValue(new Mount("254:0", Path.of("/"), Path.of("/"), "ext4", "rw"));
        assertThat(Mount.of(List.of(), Path.of("/"))).isEmpty();
    }

    @Test
    void pathsAreTranslatedIntoTheFileSystemAndBack() {
        var mount = new Mount("98:0", Path.of("/srv"), Path.of("/mnt"), "ext4", "rw");
        assertThat(mount.inFileSystem(Path.of("/mnt/genv/x"))).isEqualTo(Path.of("/srv/genv/x"));
        assertThat(mount.inFileSystem(Path.of("/mnt"))).isEqualTo(Path.of("/srv"));
        assertThat(mount.inMount(Path.of("/srv/genv/x"))).isEqualTo(Path.of("/mnt/genv/x"));
        assertThat(mount.inMount(Path.of("/srv"))).isEqualTo(Path.of("/mnt"));
    }

    @Test
    void namesTheUserWhoServesAFileSystem() {
        var mounts = Mount.parse(List.of(
                "63 43 0:39 / /a rw,nosuid,nodev,relatime - fuse.sshfs bob@x:/user_id=0 rw,user_id=61002,group_id=100",
                "64 43 0:40 / /b rw shared:1 master:2 - fuse x rw,allow_other,user_id=0",
                "65 43 0:41 / /c rw - ext4 /dev/sda rw,user_id=61002",
                "66 43 0:42 / /d rw - fuse.x user_id=61002 rw",
                "67 43 0:43 / /e rw - fuse x rw,xuser_id=5,user_id=5x"));
        assertThat(mounts)
                .extracting(Mount::user)
                .containsExactly(
                        OptionalLong.of(61002),
                        OptionalLong.of(0),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        OptionalLong.empty());
        assertThat(mounts).extracting(Mount::type).containsExactly("fuse.sshfs", "fuse", "ext4", "fuse.x", "fuse");
    }

    @ParameterizedTest
    @CsvSource({
        "/var/tmp, 61002, true",
        "/var/tmp/genv/envs.json, 61002, true",
        "/var/tmp/genv, 0, false",
        "/var/tmp/genv, 7, false",
        "/var/tmp/genv2, 61002, false",
        "/home/attacker, 61002, false",
    })
    void findsMountsOfOtherUsersAboveAndWithinTheDirectory(String point, long uid, boolean isFound) {
        assertThat(at(ROOT, fuse(point, uid)).isPresent()).isEqualTo(isFound);
    }

    @Test
    void usesTheMountOfRootThatCoversAUsersOne() {
        assertThat(at(ROOT, fuse("/var/tmp", 61002), "70 63 0:50 / /var/tmp/genv rw - tmpfs tmpfs rw"))
                .isEmpty();
    }

    private static String fuse(String point, long uid) {
        return "63 22 0:39 / %s rw,nosuid - fuse.sshfs x rw,user_id=%d,group_id=100".formatted(point, uid);
    }

    private static Optional<Directory.UserMount> at(String... mountinfo) {
        return Mount.ofUser(STATE, List.of(mountinfo), OWN);
    }
}
