package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EnvironmentTest {

    @Test
    void belongsToItsUser() {
        assertThat(env("a").user("raz").uid(1000).build().user()).contains("raz");
        assertThat(env("a").user("root").uid(0).build().user()).contains("root");
    }

    @Test
    void withoutANameItBelongsToItsUid() {
        assertThat(env("a").withoutUsername().uid(1003).build().user()).contains("1003");
        assertThat(env("a").user("").uid(1003).build().user()).contains("1003");
    }

    @Test
    void withoutANameAndWithUidZeroItBelongsToNoUser() {
        assertThat(env("a").withoutUsername().uid(0).build().user()).isEmpty();
        assertThat(env("a").user("").uid(0).build().user()).isEmpty();
    }

    @Test
    void parsesTheCapacity() {
        assertThat(env("a").capacity("1000mi").build().capacity()).contains(Memory.ofMebibytes(1000));
        assertThat(env("a").capacity("4GB").build().capacity()).contains(new Memory(4_000_000_000L));
        assertThat(env("a").build().capacity()).isEmpty();
        assertThat(env("a").capacity("x").build().capacity()).isEmpty();
    }
}
