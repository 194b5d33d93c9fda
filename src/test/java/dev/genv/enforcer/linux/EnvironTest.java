package dev.genv.enforcer.linux;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnvironTest {
    /** In an environ, {@code |} means the zero byte, and a character means the byte of its number. */
    @ParameterizedTest
    @CsvSource({
        // the last id counts
        "GENV_ENVIRONMENT_ID=15971|, 15971",
        "GENV_ENVIRONMENT_ID=15971, 15971",
        "HOME=/|GENV_ENVIRONMENT_ID=15971|LANG=C|, 15971",
        "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID=2|, 2",
        "GENV_ENVIRONMENT_ID=|GENV_ENVIRONMENT_ID=2|, 2",
        "GENV_ENVIRONMENT_ID=a=b, a=b",
        "'GENV_ENVIRONMENT_ID= 1 |', ' 1 '",
        "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID|, 1",
        "GENV_ENVIRONMENT_ID=1|XGENV_ENVIRONMENT_ID=2|, 1",
        "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_IDX=2|, 1",
        "GENV_ENVIRONMENT_ID=1|A=GENV_ENVIRONMENT_ID=2|, 1",
        "'GENV_ENVIRONMENT_ID=1| GENV_ENVIRONMENT_ID=2|', 1",
        "A=\u00ff|\u00c3|GENV_ENVIRONMENT_ID=\u00c3\u00bc|\u00ed=1|, ü",
        // an id that is not UTF-8 names no existing environment, and is distinguished
        "GENV_ENVIRONMENT_ID=\u00ff|, not-utf-8:ff",
        "GENV_ENVIRONMENT_ID=\u00ed\u00a0\u0080|, not-utf-8:eda080",
        "GENV_ENVIRONMENT_ID=1\u0080|, not-utf-8:3180",
        // without an id
        "'',",
        "HOME=/|LANG=C|,",
        "GENV_ENVIRONMENT_ID|,",
        "GENV_ENVIRONMENT_ID=,",
        "GENV_ENVIRONMENT_ID=|,",
        "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID=|,",
        "GENV_ENVIRONMENT_I,",
        "GENV_BYPASS=1|no entry at all|=|==|,",
    })
    void lastIdIsTheEnvironment(String environ, @Nullable String eid) {
        var bytes = environ.replace('|', '\0').getBytes(ISO_8859_1);
        assertThat(Environ.named(Environ.values(bytes).id()))
                .isEqualTo(eid == null ? new Membership.Outside() : new Membership.InEnvironment(eid));
    }

    /** A process can overwrite its variables, so an id can be as long as all of them, and the service stores it. */
    @Test
    void longIdIsShortened() {
        var id = new byte[8 << 20];
        Arrays.fill(id, (byte) 0xff);
        var variable = "GENV_ENVIRONMENT_ID=".getBytes(ISO_8859_1);
        System.arraycopy(variable, 0, id, 0, variable.length);
        assertThat(Environ.named(Environ.values(id).id()))
                .isInstanceOfSatisfying(
                        Membership.InEnvironment.class,
                        own -> assertThat(own.eid()).startsWith("too-long:").hasSizeLessThan(200));
    }
}
