package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Whether genv has recorded something on a machine. */
class GenvPresenceTest {
    private static final Directory PRESENT = new Directory.Present(new FileId(1, 2), 0);
    private static final StateFile ABSENT = new StateFile.Absent();
    private static final StateFile FILE = new StateFile.Present(Bytes.EMPTY);
    private static final StateFile UNREADABLE = new StateFile.Unreadable(StateFile.Cause.DENIED, 0, "");

    @Test
    void aStateFileIsGenvs() {
        assertThat(hasGenv(PRESENT, FILE, ABSENT)).isTrue();
        assertThat(hasGenv(PRESENT, ABSENT, FILE)).isTrue();
        assertThat(hasGenv(PRESENT, UNREADABLE, ABSENT)).isTrue();
    }

    @Test
    void anEmptyOrAbsentDirectoryIsNot() {
        assertThat(hasGenv(PRESENT, ABSENT, ABSENT)).isFalse();
        assertThat(hasGenv(new Directory.Absent(), ABSENT, ABSENT)).isFalse();
    }

    @Test
    void aDirectoryThatWasNotReadShowsNeither() {
        assertThat(hasGenv(new Directory.Unreadable(Failure.TIMEOUT, "x"), ABSENT, ABSENT))
                .isNull();
        assertThat(hasGenv(new Directory.UserMount(7, "fuse", "/x"), ABSENT, ABSENT))
                .isNull();
        assertThat(hasGenv(new Directory.Stale(""), ABSENT, ABSENT)).isNull();
    }

    private static @Nullable Boolean hasGenv(Directory directory, StateFile envs, StateFile devices) {
        var facts = new StateFacts(directory, LockFacts.NOT_ATTEMPTED, envs, devices);
        return Observer.hasGenv(facts);
    }
}
