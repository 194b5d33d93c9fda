package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExemptUsersTest {
    @ParameterizedTest
    @CsvSource({
        "+1001, +1002, 1001, EXEMPT",
        "+1001, +1002, 1002, EXEMPT_BEFORE",
        "+1001, +1001, 1001, EXEMPT",
        "+1001, +1002, 1003,",
        "+1001, +1002, , PERHAPS_EXEMPT",
    })
    void aUserMayBeExemptOrWasSoBeforeAChange(
            String present, String earlier, @Nullable Long uid, Immunity.@Nullable Kind expected) {
        var immunity = new ExemptUsers(List.of(present), List.of(earlier), Accounts.NONE).immunity(uid);
        assertThat(immunity == null ? null : immunity.kind()).isEqualTo(expected);
    }
}
