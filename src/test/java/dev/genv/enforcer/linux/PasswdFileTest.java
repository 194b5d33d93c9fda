package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.linux.PasswdFile.SubuidFile;
import dev.genv.enforcer.model.Accounts;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PasswdFileTest {
    private static final Accounts ACCOUNTS = new Accounts(Map.of("bob", 1000L, "4711", 1002L));

    @ParameterizedTest
    @CsvSource({"165535, 165535", "165536, 1000", "231071, 1000", "231072, 1001", "300000, 1002"})
    void namesTheAccountOfASubordinateUid(long uid, long owner) {
        var file = SubuidFile.parse("bob:165536:65536\n1001:231072:100\n4711:300000:1\n");
        assertThat(file.of(ACCOUNTS).ownerOf(uid)).isEqualTo(owner);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"nobody:165536:65536", "bob:165536", "bob:x:1", "bob:165536:-1", ":165536:1", "''"})
    void skipsInvalidRanges(String line) {
        assertThat(SubuidFile.parse(line + "\n").of(ACCOUNTS).ownerOf(165_536L)).isEqualTo(165_536L);
    }

    @Test
    void leavesAnUnknownUidUnknown() {
        assertThat(SubuidFile.EMPTY.of(ACCOUNTS).ownerOf(null)).isNull();
    }

    @Test
    void skipsInvalidAccounts() {
        var accounts = PasswdFile.parse("""
                # a comment
                +::::::
                -attacker:x:1:1:::
                :x:2:2:::
                noid:x::3:::
                minus:x:-1:3:::
                huge:x:99999999999:3:::
                none:x:4294967295:3:::
                short:x
                alice:x:1003:1003:::
                alice:x:0:0:a second one:/:
                last:x:4294967294:1:::""");
        assertThat(accounts.uidOf("alice")).hasValue(1003L);
        assertThat(accounts.uidOf("last")).hasValue(4294967294L);
        for (var none : List.of("# a comment", "+", "-attacker", "", "noid", "minus", "huge", "none", "short")) {
            assertThat(accounts.uidOf(none)).as(none).isEmpty();
        }
    }
}
