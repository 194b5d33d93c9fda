package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.linux.FileCalls.FileStatus;
import java.nio.file.Path;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which users and groups may write the database. */
class DataFolderTest {
    private static final Path PATH = Path.of("/var/lib/genv-enforcer");
    /** A pod with the user and fsGroup 65532, and a further group. */
    private static final DataFolder.Access POD = new DataFolder.Access(65_532, Set.of(65_532L, 5L));
    /** A pod of a node. */
    private static final DataFolder.Access ROOT = new DataFolder.Access(0, Set.of(0L, 5L));

    @ParameterizedTest
    @CsvSource({
        "ROOT, 0, 0, 755,", // what Kubernetes creates for a hostPath
        "ROOT, 0, 0, 757, every user can write to /var/lib/genv-enforcer",
        "ROOT, 0, 5, 775, gid 5 can write to /var/lib/genv-enforcer",
        "ROOT, 1000, 0, 700, /var/lib/genv-enforcer belongs to uid 1000",
        "POD, 0, 65532, 2775,",
        "POD, 65532, 65532, 2770,",
        "POD, 0, 100, 2775, gid 100 can write to /var/lib/genv-enforcer",
        "POD, 0, 65532, 2777, every user can write to /var/lib/genv-enforcer",
        "POD, 1000, 65532, 2770, /var/lib/genv-enforcer belongs to uid 1000",
    })
    void folderIsRefusedIfOthersThanTheServiceAndItsGroupsCanWriteToIt(
            String user, long uid, long gid, String permissions, @Nullable String refusal) {
        var access = user.equals("ROOT") ? ROOT : POD;
        assertRefused(refusal, () -> access.checkFolder(PATH, status(0040000, uid, gid, permissions)));
    }

    @ParameterizedTest
    @CsvSource({
        "65532, 65532, 660,",
        "65532, 100, 660, '/var/lib/genv-enforcer is open to other users, or has a second name'",
        "65532, 65532, 664, '/var/lib/genv-enforcer is open to other users, or has a second name'",
        "0, 65532, 660, /var/lib/genv-enforcer belongs to uid 0",
    })
    void fileIsRefusedIfOthersThanTheServiceAndItsGroupsCanReadIt(
            long uid, long gid, String permissions, @Nullable String refusal) {
        assertRefused(refusal, () -> POD.checkFile(PATH, status(0100000, uid, gid, permissions)));
    }

    private static void assertRefused(@Nullable String refusal, ThrowingCallable check) {
        if (refusal == null) {
            assertThatCode(check).doesNotThrowAnyException();
        } else {
            assertThatThrownBy(check).isInstanceOf(StoreException.class).hasMessage(refusal);
        }
    }

    private static FileStatus status(int type, long uid, long gid, String permissions) {
        return new FileStatus(type | Integer.parseInt(permissions, 8), uid, gid, 1, 0, 1, 0, 1, 0, 0, 0);
    }
}
