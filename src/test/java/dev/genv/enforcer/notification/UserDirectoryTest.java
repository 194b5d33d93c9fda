package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.user.Accounts;
import dev.genv.enforcer.model.user.SubordinateUids;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class UserDirectoryTest {
    private final UserDirectory users = new UserDirectory();

    @Test
    void knowsTheAccountOfAUid() {
        users.update(Map.of("gpu-1", accounts(Map.of("raz", 1003L))));
        assertThat(users.nameOf(Set.of("gpu-1"), 1003)).contains("raz");
        assertThat(users.nameOf(Set.of("gpu-1"), 1004)).isEmpty();
        assertThat(users.nameOf(Set.of("gpu-2"), 1003)).isEmpty();
    }

    @Test
    void subordinateUidIsItsAccounts() {
        var subuids = new SubordinateUids(List.of(new SubordinateUids.Range(1003, 100_000, 65_536)));
        users.update(Map.of("gpu-1", new UserDirectory.Users(new Accounts(Map.of("raz", 1003L)), subuids)));
        assertThat(users.ownerOf("gpu-1", 100_007)).isEqualTo(1003);
        assertThat(users.nameOf(Set.of("gpu-1"), 100_007)).contains("raz");
    }

    /** The message of one person must not reach the other one. */
    @Test
    void ambiguousUidHasNoName() {
        users.update(Map.of(
                "gpu-1", accounts(Map.of("raz", 1003L, "paul", 1004L, "toor", 0L, "root", 0L)),
                "gpu-2", accounts(Map.of("eve", 1003L, "paul", 1004L))));
        assertThat(users.nameOf(Set.of("gpu-1", "gpu-2"), 1003)).isEmpty();
        assertThat(users.nameOf(Set.of("gpu-1"), 0)).isEmpty();
        assertThat(users.nameOf(Set.of("gpu-1", "gpu-2"), 1004)).contains("paul");
    }

    @Test
    void updateForgetsFormerMachines() {
        users.update(Map.of("gpu-1", accounts(Map.of("raz", 1003L))));
        users.update(Map.of());
        assertThat(users.nameOf(Set.of("gpu-1"), 1003)).isEmpty();
    }

    private static UserDirectory.Users accounts(Map<String, Long> uids) {
        return new UserDirectory.Users(new Accounts(uids), SubordinateUids.NONE);
    }
}
