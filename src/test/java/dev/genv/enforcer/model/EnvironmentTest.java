package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EnvironmentTest {

    @ParameterizedTest
    @CsvSource({"raz, 1000, raz", "root, 0, root", ", 1003, 1003", "'', 1003, 1003", ", 0,", "'', 0,"})
    void belongsToItsUserOrUidUnlessThatIsZero(@Nullable String name, long uid, @Nullable String user) {
        assertThat(env("a").user(name).uid(uid).build().user()).isEqualTo(Optional.ofNullable(user));
    }
}
