package dev.genv.enforcer.observation;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OwnershipResolverTest {
    private static final long BOB = 1001;
    private static final long ATTACKER = 1002;
    private static final Map<Integer, LiveProcess> RUNNING = Map.of(
            10, new LiveProcess(10, BOB),
            11, new LiveProcess(11, BOB),
            20, new LiveProcess(20, ATTACKER),
            1, new LiveProcess(1, 0L),
            99, new LiveProcess(99, null));

    private Accounts accounts = new Accounts(Map.of("attacker", ATTACKER, "attacker2", ATTACKER, "root", 0L))
            .with(Map.of("bob", BOB), Map.of("BOB", "bob"));

    /** A recorded user and uid, pids of which 4711 has exited, what disputes the owner, the user who counts, and whether it is an account. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        bob       | 1001 | 10    |                                                        | bob       | true
        bob       | 1001 | 11 99 |                                                        | bob       | true
        attacker2 | 1002 | 20    |                                                        | attacker2 | true
        # the directory ignores the case: it is no user with another quota
        BOB       | 1001 | 10    |                                                        | bob       | true
        BOB       | 1002 | 20    | user BOB has uid 1001                                  | BOB       | false
        ''        | 1001 | 10    |                                                        | bob       | true
        bob       | 1001 | 20    | recorded for uid 1001, but its pids are of uids 1002   | bob       | true
        bob       | 1001 | 10 20 | recorded for uid 1001, but its pids are of uids 1001, 1002 | bob   | true
        bob       | 1001 | 1     | recorded for uid 1001, but its pids are of uids 0      | bob       | true
        bob       | 1002 | 20    | user bob has uid 1001                                  | bob       | false
        x7        | 1002 | 20    | uid 1002 is user attacker or attacker2, not x7         | x7        | false
        carol     | 1003 | 4711  |                                                        | carol     | false
        # else a user who removes the recorded name would have a second quota; the first of two names counts
        ''        | 1002 | 4711  |                                                        | attacker  | true
        ''        | 1003 | 4711  |                                                        | 1003      | false
        # a container of genv's toolkit
        ''        | 0    | 4711  |                                                        |           | false
        """)
    void comparesTheRecordWithAccountsAndPids(
            String user, long uid, String pids, @Nullable String dispute, @Nullable String counts, boolean isAccount) {
        var recorded = user.isEmpty() ? env("e").withoutUsername() : env("e").user(user);
        var resolved = resolve(recorded.uid(uid)
                        .pids(Arrays.stream(pids.split(" ", -1))
                                .mapToInt(Integer::parseInt)
                                .toArray()))
                .getFirst();
        if (dispute == null) {
            assertThat(resolved.ownership().dispute()).isNull();
        } else {
            assertThat(resolved.ownership().dispute()).contains(dispute);
        }
        assertThat(resolved.user().orElse(null)).isEqualTo(counts);
        assertThat(resolved.ownership().isAccount()).isEqualTo(isAccount);
    }

    @Test
    void unknownUidsAndNamesCauseNoDispute() {
        for (var none : List.of(Accounts.NONE, new Accounts(Map.of("carol", 1003L)))) {
            accounts = none;
            assertDisputed(
                    Stream.of(environmentOfBob(), env("x").user("bob").uid(BOB).pids(99)), false, false);
        }
    }

    /** Users of a directory service are not in passwd, but two users cannot have the same name. */
    @Test
    void unknownNameWithTwoUidsDisputesBoth() {
        var attackers = env("m").user("bob").uid(ATTACKER).pids(20);
        assertDisputed(Stream.of(environmentOfBob(), attackers), false, true);
        accounts = Accounts.NONE;
        assertDisputed(
                Stream.of(environmentOfBob(), attackers, env("c").user("carol").uid(1003)), true, true, false);
        // An environment without a name counts by its uid, and another user can have that number as a name.
        assertDisputed(
                Stream.of(
                        env("n").withoutUsername().uid(BOB).pids(10),
                        env("m").user("1001").uid(ATTACKER).pids(20)),
                true,
                true);
    }

    private void assertDisputed(Stream<EnvBuilder> environments, Boolean... expected) {
        assertThat(resolve(environments.toArray(EnvBuilder[]::new)))
                .extracting(each -> each.ownership().isDisputed())
                .containsExactly(expected);
    }

    @Test
    void disputeTextIsBoundedForManyClaims() {
        var many = IntStream.range(5000, 10_000)
                .mapToObj(uid -> env("e" + uid).user("dave").uid(uid));
        assertThat(resolve(many.toArray(EnvBuilder[]::new)))
                .allSatisfy(each ->
                        assertThat(each.ownership().dispute()).endsWith("5007 and 4992 more have the same user name"));
    }

    /** What is written proves nothing, and 4711 has exited. */
    @Test
    void environmentIsExemptWhenAllLivePidsAreExempt() {
        assertThat(resolve(
                        environmentOfBob(),
                        environmentOfBob().pids(10, 4711),
                        environmentOfBob().pids(10, 20),
                        env("x").user("bob").uid(BOB)))
                .extracting(each -> each.ownership().immunity() != null)
                .containsExactly(true, true, false, false);
    }

    /** The environment is named after a shell, or not; 20 is a process of another user, and the uid of 99 is unknown. */
    @Test
    void ownerIsProvenByAllLivePidsAndTheShell() {
        assertThat(resolve(
                        environmentOfBob(),
                        env("10").user("bob").uid(BOB).pids(10),
                        env("20").user("bob").uid(BOB).pids(10),
                        environmentOfBob().pids(10, 99)))
                .extracting(Environment::isProven)
                .containsExactly(true, true, false, false);
    }

    private static EnvBuilder environmentOfBob() {
        return env("b").user("bob").uid(BOB).pids(10);
    }

    private List<Environment> resolve(EnvBuilder... environments) {
        return new OwnershipResolver(RUNNING, accounts, new ExemptUsers(List.of("+" + BOB), accounts))
                .resolve(Stream.of(environments).map(EnvBuilder::build).toList());
    }
}
