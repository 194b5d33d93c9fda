package dev.genv.enforcer.observation;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.LivenessFacts.LiveProcess;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.observation.LiveState.OwnershipResolver;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class OwnershipResolverTest {
    private static final long BOB = 1001;
    private static final long ATTACKER = 1002;

    private final Map<Integer, Long> uids = new HashMap<>(Map.of(10, BOB, 11, BOB, 20, ATTACKER, 1, 0L));
    private Accounts accounts = new Accounts(Map.of("bob", BOB, "attacker", ATTACKER, "attacker2", ATTACKER));
    private Set<Long> exempt = Set.of();

    @Test
    void ownershipIsUndisputedWhenAllSourcesAgree() {
        assertThat(dispute(environmentOfBob())).isNull();
        assertThat(dispute(environmentOfBob().pids(11))).isNull();
        assertThat(dispute(env("m").user("attacker2").uid(ATTACKER).pids(20)))
                .as("an account may have several names")
                .isNull();
        assertThat(dispute(env("n").withoutUsername().uid(BOB).pids(10))).isNull();
    }

    @Test
    void unknownUidsAndNamesCauseNoDispute() {
        accounts = Accounts.NONE;
        uids.clear();
        assertThat(dispute(environmentOfBob())).isNull();
        accounts = new Accounts(Map.of("carol", 1003L));
        assertThat(dispute(environmentOfBob())).isNull();
    }

    @Test
    void accountConfirmsTheUidOfItsName() {
        assertThat(resolved(environmentOfBob()).ownership().isAccount()).isTrue();
        assertThat(resolved(env("x").user("bob").uid(ATTACKER)).ownership().isAccount())
                .isFalse();
        assertThat(resolved(env("x").user("carol").uid(1003)).ownership().isAccount())
                .isFalse();
        assertThat(resolved(env("x").withoutUsername().uid(1003)).ownership().isAccount())
                .isFalse();
    }

    /** Else a user who removes the recorded name would have a second quota. */
    @Test
    void environmentWithoutANameCountsForTheAccountOfItsUid() {
        assertThat(resolved(env("x").withoutUsername().uid(BOB)).user()).contains("bob");
        assertThat(resolved(env("x").withoutUsername().uid(ATTACKER)).user())
                .as("the first of two names")
                .contains("attacker");
        assertThat(resolved(env("x").withoutUsername().uid(1003)).user()).contains("1003");
        accounts = new Accounts(Map.of("root", 0L));
        assertThat(resolved(env("x").withoutUsername().uid(0)).user())
                .as("a container of genv's toolkit")
                .isEmpty();
    }

    @Test
    void pidOfAnotherUserCausesDispute() {
        assertThat(dispute(environmentOfBob().pids(20))).contains("uid 1001", "1001, 1002");
        assertThat(dispute(env("x").user("bob").uid(BOB).pids(20))).isNotNull();
        assertThat(dispute(env("x").user("bob").uid(BOB).pids(1)))
                .as("not even root's")
                .isNotNull();
    }

    @Test
    void nameOfAnotherUidCausesDispute() {
        assertThat(dispute(env("x").user("bob").uid(ATTACKER).pids(20))).contains("user bob has uid 1001");
        assertThat(dispute(env("x").user("x7").uid(ATTACKER).pids(20)))
                .contains("uid 1002 is user attacker or attacker2, not x7");
    }

    /** Users of a directory service are not in passwd, but two users cannot have the same name. */
    @Test
    void unknownNameWithTwoUidsDisputesBoth() {
        accounts = Accounts.NONE;
        var checked = resolver()
                .resolve(List.of(
                        environmentOfBob().build(),
                        env("m").user("bob").uid(ATTACKER).pids(20).build(),
                        env("c").user("carol").uid(1003).build()));

        assertThat(checked).extracting(each -> each.ownership().isDisputed()).containsExactly(true, true, false);
    }

    @Test
    void anotherClaimOnAKnownNameDoesNotDisputeItsOwner() {
        var checked = resolver()
                .resolve(List.of(
                        environmentOfBob().build(),
                        env("m").user("bob").uid(ATTACKER).pids(20).build()));

        assertThat(checked).extracting(each -> each.ownership().isDisputed()).containsExactly(false, true);
    }

    /** An environment without a name counts by its uid, and another user can have that number as a name. */
    @Test
    void nameThatLooksLikeAUidDisputesBoth() {
        accounts = Accounts.NONE;
        var checked = resolver()
                .resolve(Stream.of(
                                env("n").withoutUsername().uid(BOB).pids(10),
                                env("m").user("1001").uid(ATTACKER).pids(20))
                        .map(EnvBuilder::build)
                        .toList());

        assertThat(checked).allMatch(each -> each.ownership().isDisputed());
    }

    @Test
    void disputeTextIsBoundedForManyClaims() {
        var many = IntStream.range(5000, 10_000)
                .mapToObj(uid -> env("e" + uid).user("dave").uid(uid).build())
                .toList();
        assertThat(resolver().resolve(many))
                .allSatisfy(each ->
                        assertThat(each.ownership().dispute()).endsWith("5007 and 4992 more have the same user name"));
    }

    @Test
    void environmentIsExemptWhenAllLivePidsAreExempt() {
        exempt = Set.of(BOB);
        assertThat(isExempt(environmentOfBob())).isTrue();
        assertThat(isExempt(environmentOfBob().pids(4711))).as("4711 is dead").isTrue();
        assertThat(isExempt(environmentOfBob().pids(20))).isFalse();
        assertThat(isExempt(env("x").user("bob").uid(BOB)))
                .as("what is written proves nothing")
                .isFalse();
    }

    private static EnvBuilder environmentOfBob() {
        return env("b").user("bob").uid(BOB).pids(10);
    }

    private @Nullable String dispute(EnvBuilder environment) {
        return resolved(environment).ownership().dispute();
    }

    private boolean isExempt(EnvBuilder environment) {
        return resolved(environment).ownership().exempt();
    }

    private Environment resolved(EnvBuilder environment) {
        return resolver().resolve(List.of(environment.build())).getFirst();
    }

    private OwnershipResolver resolver() {
        var running = uids.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, pid -> new LiveProcess(pid.getKey(), pid.getValue())));
        return new OwnershipResolver(running, accounts, exempt);
    }
}
