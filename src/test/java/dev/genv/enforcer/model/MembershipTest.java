package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Membership.InEnvironment;
import dev.genv.enforcer.model.Membership.Outside;
import dev.genv.enforcer.model.Membership.Unknown;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class MembershipTest {
    private static final List<Environment> ENVIRONMENTS =
            List.of(env("a").pids(7).build(), env("b").pids(8, 812).build());

    private static final Map<Integer, Unknown> LISTED = Membership.ofListedPids(ENVIRONMENTS);

    @Test
    void listedProcessThatNamesNoEnvironmentIsUnknown() {
        assertThat(Membership.resolve(new Outside(), 812, LISTED))
                .isEqualTo(new Unknown("names no environment, but environment b lists its pid", true));
    }

    @Test
    void namedEnvironmentOutranksPidLists() {
        var own = new InEnvironment("a");
        assertThat(Membership.resolve(own, 812, LISTED)).isEqualTo(own);
        var strange = new InEnvironment("gone");
        assertThat(Membership.resolve(strange, 812, LISTED)).isEqualTo(strange);
    }
}
