package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class PasswdFileTest {
    @Test
    void skipsInvalidLines() {
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
