package dev.genv.enforcer.policy;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Groups;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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

    /**
     * The general limit is 3, that of phd 5 and of undergrad 1. alice holds devices on the first host; the groups of alice on both hosts, where
     * {@code ?} is unknown and a blank is no account; the limit.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        users            |                  |       | 3
        phd users        |                  |       | 5
        undergrad        |                  |       | 1
        # the largest one counts
        undergrad phd    |                  |       | 5
        # own limits count before those of groups
        undergrad phd    |                  | alice | 2
        ?                |                  | alice | 2
        # the groups of all hosts together
        users            | phd              |       | 5
        phd              | users            |       | 5
        undergrad        | phd              |       | 5
        # it may be in a group that changes the limit
        ?                |                  |       | held
        ?                | users            |       | held
        ?                | undergrad        |       | held
        # a larger one than that of phd is in no group
        ?                | phd              |       | 5
        # without an account where something is held
                         | phd              |       | 5
                         | users            |       | held
                         |                  |       | held
        """)
    void groups(@Nullable String here, @Nullable String there, @Nullable String own, String expected) {
        var limits = new Limits(3, Map.of("phd", 5, "undergrad", 1), own == null ? Map.of() : Map.of(own, 2));
        for (var held = 1; held <= 6; held++) {
            var plan = KnownRules.policy(
                            Map.of(
                                    KnownRules.MAX_DEVICES_PER_USER,
                                    RuleMode.ENFORCE,
                                    KnownRules.MAX_MEMORY_PER_USER,
                                    RuleMode.ENFORCE),
                            limits,
                            limits)
                    .check(
                            new Fleet(
                                    List.of(
                                            host("first")
                                                    .devices(6)
                                                    .accounts(ofAlice(here))
                                                    .with(env("a").user("alice")
                                                            .uid(5000)
                                                            .attached(IntStream.range(0, held)
                                                                    .toArray()))
                                                    .with(process(7)
                                                            .inEnvironment("a")
                                                            .uid(5000)
                                                            .uses(0, held + "mi"))
                                                    .snapshot(),
                                            host("second")
                                                    .devices(1)
                                                    .accounts(ofAlice(there))
                                                    .snapshot()),
                                    true),
                            Set.of());
            var rules = plan.violations().stream().map(each -> each.rule().name());
            assertThat(plan.problems().stream()
                            .map(problem -> problem.problem().code())
                            .distinct())
                    .as("%d held", held)
                    .isEqualTo(
                            (expected.equals("held") || here == null) && held > 1
                                    ? List.of(ProblemCode.QUOTA_UNDECIDED)
                                    : List.of());
            if (expected.equals("held") || held <= Integer.parseInt(expected)) {
                assertThat(rules).as("%d held", held).isEmpty();
            } else if (here == null) { // the limit of memory is of uids
                assertThat(rules).as("%d held", held).containsExactly("max-devices-per-user");
            } else {
                assertThat(rules).as("%d held", held).containsExactly("max-devices-per-user", "max-memory-per-user");
            }
        }
    }

    private static Accounts ofAlice(@Nullable String groups) {
        var numbers = Map.of("phd", 600L, "undergrad", 601L, "users", 100L);
        var configured = Map.of("phd", Optional.of(600L), "undergrad", Optional.of(601L));
        if (groups == null) {
            return KNOWN.withGroups(new Groups(configured, Map.of(), Map.of()));
        }
        var theirs = Stream.of(groups.split(" ")).map(numbers::get).collect(Collectors.toSet());
        return new Accounts(Map.of("alice", 5000L))
                .withGroups(new Groups(configured, groups.equals("?") ? Map.of() : Map.of("alice", theirs), Map.of()));
    }

    private static Accounts accounts(String limited, @Nullable Long found) {
        return KNOWN.withConfigured(Map.of(limited, Optional.ofNullable(found)));
    }
}
