package dev.genv.enforcer.linux;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvironTest {

    /** In these texts {@code |} means the zero byte. */
    @ParameterizedTest
    @CsvSource({
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
    })
    void lastEnvironmentIdCounts(String environ, String eid) {
        assertThat(membership(environ)).isEqualTo(new Membership.InEnvironment(eid));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "HOME=/|LANG=C|",
                "GENV_ENVIRONMENT_ID|",
                "GENV_ENVIRONMENT_ID=",
                "GENV_ENVIRONMENT_ID=|",
                "GENV_ENVIRONMENT_ID=1|GENV_ENVIRONMENT_ID=|",
                "GENV_ENVIRONMENT_I",
                "GENV_BYPASS=1|no entry at all|=|==|",
            })
    void processWithoutIdIsOutside(String environ) {
        assertThat(membership(environ)).isEqualTo(new Membership.Outside());
    }

    @ParameterizedTest
    @CsvSource({
        "\u00ff, not-utf-8:ff",
        "\u00ed\u00a0\u0080, not-utf-8:eda080",
        "1\u0080, not-utf-8:3180",
    })
    void nonUtf8IdNamesNoExistingEnvironmentAndIsDistinguished(String id, String eid) {
        assertThat(membership("GENV_ENVIRONMENT_ID=" + id + "|")).isEqualTo(new Membership.InEnvironment(eid));
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

    @Test
    void otherEntriesNeedNotBeUtf8() {
        assertThat(membership("A=\u00ff|\u00c3|GENV_ENVIRONMENT_ID=\u00c3\u00bc|\u00ed=1|"))
                .isEqualTo(new Membership.InEnvironment("ü"));
    }

    private static Membership membership(String environ) {
        return Environ.named(
                Environ.values(environ.replace('|', '\0').getBytes(ISO_8859_1)).id());
    }
}
