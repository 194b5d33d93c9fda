package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which users have a limit of their own. The general limit is one device, or one MiB; with an own limit it is nine. */
class UserLimitsTest {
    private static final Accounts KNOWN = new Accounts(Map.of("bob", 1004L, "20231234", 70_012L));

    /** The user who has an own limit, the uid that the machine found for that user, and the recorded user and uid of an environment. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        john        | 5000 | john      | 5000     | own
        john        |      | john      | 5000     | own
        # another recorded name is another user
        john        |      | paul      | 5000     | general
        JOHN        | 5000 | john      | 5000     | own
        # without a name, the uid counts
        john        | 5000 |           | 5000     | own
        john        | 5000 |           | 5001     | general
        # it may be the uid of john, whose directory does not answer
        john        |      |           | 5000     | held
        john        |      | bob       | 1004     | general
        # another spelling of the name may be the same account
        CORP\\john  |      | john      | 5000     | held
        JOHN        |      | john      | 5000     | held
        john@corp   |      | john      | 5000     | held
        # a number is a name first
        20231234    | 70012 | 20231234 | 70012    | own
        20231234    | 70012 |          | 20231234 | general
        5000        | 5000 |           | 5000     | own
        5000        |      |           | 5000     | held
        """)
    void devices(String limited, @Nullable Long found, @Nullable String user, long uid, String limit) {
        var environment = user == null ? env("a").withoutUsername() : env("a").user(user);
        var plan = KnownRules.policy(
                        Map.of(KnownRules.MAX_DEVICES_PER_USER, RuleMode.ENFORCE),
                        new Limits(1, Map.of(limited, 9)),
                        Limits.NONE)
                .check(
                        new Fleet(
                                List.of(host().devices(2)
                                        .accounts(accounts(limited, found))
                                        .with(environment.uid(uid).attached(0, 1))
                                        .snapshot()),
                                false),
                        Set.of());
        assertThat(plan.violations()).hasSize(limit.equals("general") ? 1 : 0);
    }

    /** The same, and the real uid of a process. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        john        | 5000  | 5000     | own
        JOHN        | 5000  | 5000     | own
        john        | 5000  | 5001     | general
        john        |       | 5000     | held
        john        |       | 1004     | general
        bob         | 1004  | 1004     | own
        20231234    | 70012 | 70012    | own
        +1004       | 1004  | 1004     | own
        5000        |       | 5000     | held
        """)
    void memory(String limited, @Nullable Long found, long uid, String limit) {
        var plan = KnownRules.policy(
                        Map.of(KnownRules.MAX_MEMORY_PER_USER, RuleMode.ENFORCE),
                        Limits.NONE,
                        new Limits(1, Map.of(limited, 9)))
                .check(
                        new Fleet(
                                List.of(host().devices(1)
                                        .accounts(accounts(limited, found))
                                        .with(process(7).uid(uid).uses(0, "5mi"))
                                        .snapshot()),
                                false),
                        Set.of());
        assertThat(plan.violations()).hasSize(limit.equals("general") ? 1 : 0);
    }

    private static Accounts accounts(String limited, @Nullable Long found) {
        return KNOWN.withConfigured(Map.of(limited, Optional.ofNullable(found)));
    }
}
