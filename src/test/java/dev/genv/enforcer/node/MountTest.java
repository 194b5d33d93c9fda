package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class MountTest {
    private static final List<String> LINES = List.of(
            "22 1 254:0 / / rw,relatime - ext4 /dev/root rw",
            "36 22 98:0 /srv/old /var/tmp/genv rw,noatime master:1 - ext3 /dev/sda rw,errors=continue",
            "37 22 98:0 /srv/a\\040b\\134c /var/tmp/genv rw,noatime - ext3 /dev/sda rw",
            "38 22 0:5 / /var/tmp/genv2 rw - tmpfs tmpfs rw");

    @Test
    void theInnermostAndLastOneHoldsAPath() {
        assertThat(Mount.of(LINES, Path.of("/var/tmp/genv/x")))
                .hasValue(new Mount("98:0", Path.of("/srv/a b\\c"), Path.of("/var/tmp/genv")));
        assertThat(Mount.of(LINES, Path.of("/var/tmp/other"))).hasValue(new Mount("254:0", Path.of("/"), Path.of("/")));
        assertThat(Mount.of(List.of(), Path.of("/"))).isEmpty();
    }

    @Test
    void pathsAreTranslatedIntoTheFileSystemAndBack() {
        var mount = new Mount("98:0", Path.of("/srv"), Path.of("/mnt"));
        assertThat(mount.inFileSystem(Path.of("/mnt/genv/x"))).isEqualTo(Path.of("/srv/genv/x"));
        assertThat(mount.inFileSystem(Path.of("/mnt"))).isEqualTo(Path.of("/srv"));
        assertThat(mount.inMount(Path.of("/srv/genv/x"))).isEqualTo(Path.of("/mnt/genv/x"));
        assertThat(mount.inMount(Path.of("/srv"))).isEqualTo(Path.of("/mnt"));
    }

    @Test
    void whatIsNoMountIsNone() {
        assertThat(Mount.parse(
                        List.of("", "x", "1 2 3 4 5 6", "36 22 98:0 relative /var rw -", "36 22 98:0 /\\000 / rw -")))
                .isEmpty();
    }
}
