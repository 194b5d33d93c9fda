package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.node.state.StateAccess.Mount;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class UserMountsTest {
    private static final Path STATE = Path.of("/var/tmp/genv");
    private static final long OWN = 7;
    private static final String ROOT = "22 1 254:0 / / rw,relatime - ext4 /dev/root rw";

    @Test
    void reportsUserTypeAndMountPoint() {
        assertThat(at(ROOT, fuse("/var/tmp/genv", 61002)))
                .contains(new Directory.UserMount(61002, "fuse.sshfs", "/var/tmp/genv"));
    }

    @Test
    void findsUserMountsAboveAndWithinTheDirectory() {
        assertThat(at(ROOT, fuse("/var/tmp", 61002))).isPresent();
        assertThat(at(ROOT, fuse("/var/tmp/genv/envs.json", 61002))).isPresent();
    }

    @Test
    void trustsMountsOfRootAndOfTheService() {
        assertThat(at(ROOT, fuse("/var/tmp/genv", 0))).isEmpty();
        assertThat(at(ROOT, fuse("/var/tmp/genv", OWN))).isEmpty();
    }

    @Test
    void ignoresMountsElsewhere() {
        assertThat(at(ROOT, fuse("/var/tmp/genv2", 61002), fuse("/home/attacker", 61002)))
                .isEmpty();
        assertThat(at(ROOT)).isEmpty();
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
