package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An exempt user keeps every process also if the machine's accounts cannot be read. */
class UnresolvedUsersTest {
    private static final String TOO_LARGE = " ".repeat((4 << 20) + 1);
    private static final String ACCOUNTS = "alice:x:1003:1:::\n";

    @TempDir
    Path folder;

    @Test
    void nothingIsExecutedBeforeTheAccountsAreReadOnce() throws Exception {
        try (var machine = new DescribedMachine(folder)) {
            machine.exempt.add("alice");
            var host = machine.host();
            machine.passwd(TOO_LARGE);
            assertThat(host.observe(Set.of()).details().readOnlyReason()).contains("/etc/passwd");
            machine.passwd(ACCOUNTS);
            assertThat(host.observe(Set.of()).details().readOnlyReason()).isNull();
            machine.passwd(TOO_LARGE);
            assertThat(host.observe(Set.of()).details().readOnlyReason())
                    .as("the last accounts are used")
                    .isNull();
        }
    }

    @Test
    void actionsAreExecutedIfNoSettingNamesAUser() throws Exception {
        try (var machine = new DescribedMachine(folder)) {
            machine.exempt.add("1003");
            machine.passwd(TOO_LARGE);
            assertThat(machine.host().observe(Set.of()).details().readOnlyReason())
                    .isNull();
        }
    }
}
