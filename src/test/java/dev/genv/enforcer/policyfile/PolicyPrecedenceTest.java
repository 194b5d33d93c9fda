package dev.genv.enforcer.policyfile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.RuleConfig.IdleLimits;
import dev.genv.enforcer.policy.Rules;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which limit counts: an exception, else the user's, else the largest of the groups, else the default. */
class PolicyPrecedenceTest {
    private static final String FILE = """
            rules: {max-devices-per-user: enforce}
            max_devices: {default: 2, groups: {phd: 4, undergrad: 1, staff: 6}, users: {john: 3}}
            exceptions:
              - {user: bob, max_devices: 8, until: 2026-12-01}
              - {group: course-ml, max_devices: 1, from: 2026-11-30, until: 2026-12-20}
              - {group: course-ml-2, max_devices: 2, until: 2026-12-20}
              - {group: late, max_devices: 9, from: 2027-01-01, until: 2027-02-01}
              - {user: eve, max_devices: 9, until: 2026-11-30}
            hours:
              - {days: Tue, from: "20:00", to: "22:00", max_devices: {default: 5, groups: {phd: 7}, users: {paul: 1}}}
            """;

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            eve  |                  | 2  | default
            eve  | undergrad        | 1  | group undergrad
            eve  | undergrad,phd    | 4  | group phd
            eve  | phd,staff        | 6  | group staff
            john | staff            | 3  | user john
            bob  |                  | 8  | exception of user bob
            bob  | course-ml        | 8  | exception of user bob
            john | course-ml        | 1  | exception of group course-ml
            eve  | staff,course-ml  | 1  | exception of group course-ml
            john | course-ml,course-ml-2 | 2 | exception of group course-ml-2
            eve  | late             | 2  | default
            eve  | ?course-ml       |    |
            eve  | ?staff           |    |
            john | ?staff           | 3  | user john
            bob  | ?course-ml       | 8  | exception of user bob
            """)
    void takesTheFirstThatApplies(
            String user, @Nullable String groups, @Nullable Integer limit, @Nullable String reason) throws Exception {
        check("2026-12-01T12:00:00Z", user, groups, limit, reason);
    }

    /** Only the same keys: the own limit of john is that of all hours. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            eve  |                  | 5  | default
            eve  | phd              | 7  | group phd
            eve  | undergrad        | 1  | group undergrad
            eve  | phd,staff        | 7  | group phd
            eve  | ?phd             |    |
            john | phd              | 3  | user john
            paul | phd              | 1  | user paul
            bob  | phd              | 8  | exception of user bob
            eve  | phd,course-ml    | 1  | exception of group course-ml
            """)
    void valuesOfHoursTakeThePlaceOfTheSameKeys(
            String user, @Nullable String groups, @Nullable Integer limit, @Nullable String reason) throws Exception {
        check("2026-12-01T20:30:00Z", user, groups, limit, reason);
    }

    private static void check(
            String time, String user, @Nullable String groups, @Nullable Integer limit, @Nullable String reason)
            throws Exception {
        var limits = PolicyReaderTest.read(FILE)
                .at(Instant.parse(time), PolicyValues.NONE)
                .policy(IdleLimits.DEFAULT)
                .limitsOf(Rules.MAX_DEVICES_PER_USER);
        var its = groups == null ? List.<String>of() : List.of(groups.split(","));
        var found = limits.limitFor(name -> name.equals(user) ? Match.YES : Match.NO, group -> match(its, group));
        assertThat(found.orNull()).isEqualTo(limit);
        if (reason != null) {
            assertThat(limits.keyFor(name -> name.equals(user) ? Match.YES : Match.NO, group -> match(its, group))
                            .reason())
                    .isEqualTo(reason);
        }
    }

    private static Match match(List<String> groups, String group) {
        return groups.contains(group) ? Match.YES : groups.contains("?" + group) ? Match.UNKNOWN : Match.NO;
    }
}
