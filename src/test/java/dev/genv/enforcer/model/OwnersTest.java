package dev.genv.enforcer.model;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.EnvBuilder;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class OwnersTest {
    private static final long BOB = 1001;
    private static final long MALLORY = 1002;

    private final Map<Integer, Long> uids = new HashMap<>(Map.of(10, BOB, 11, BOB, 20, MALLORY, 1, 0L));
    private Accounts accounts = new Accounts(Map.of("bob", BOB, "mallory", MALLORY, "malory", MALLORY));
    private Set<Long> exempt = Set.of();

    @Test
    void whatAgreesIsUndisputed() {
        assertThat(dispute(bobs())).isNull();
        assertThat(dispute(bobs().pids(11))).isNull();
        assertThat(dispute(env("m").user("malory").uid(MALLORY).pids(20)))
                .as("an account may have several names")
                .isNull();
        assertThat(dispute(env("n").nameless().uid(BOB).pids(10))).isNull();
    }

    @Test
    void whatIsNotKnownSpeaksAgainstNobody() {
        accounts = Accounts.NONE;
        uids.clear();
        assertThat(dispute(bobs())).isNull();
        accounts = new Accounts(Map.of("carol", 1003L));
        assertThat(dispute(bobs())).isNull();
    }

    @Test
    void aPidOfAnotherUserSpeaksAgainstIt() {
        assertThat(dispute(bobs().pids(20))).contains("uid 1001", "1001, 1002");
        assertThat(dispute(env("x").user("bob").uid(BOB).pids(20))).isNotNull();
        assertThat(dispute(env("x").user("bob").uid(BOB).pids(1)))
                .as("not even root's")
                .isNotNull();
    }

    @Test
    void aNameOfAnotherUidSpeaksAgainstIt() {
        assertThat(dispute(env("x").user("bob").uid(MALLORY).pids(20))).contains("user bob has uid 1001");
        assertThat(dispute(env("x").user("x7").uid(MALLORY).pids(20)))
                .contains("uid 1002 is user mallory or malory, not x7");
    }

    /** Users of a directory service: nobody here knows their names, but two cannot have the same one. */
    @Test
    void twoUidsByOneUnknownNameSpeakAgainstBoth() {
        accounts = Accounts.NONE;
        var judged = owners().judge(List.of(
                bobs().build(),
                env("m").user("bob").uid(MALLORY).pids(20).build(),
                env("c").user("carol").uid(1003).build()));

        assertThat(judged).extracting(each -> each.ownership().isDisputed()).containsExactly(true, true, false);
    }

    @Test
    void aNameThatIsKnownIsNotSpoiledByWhoeverElseUsesIt() {
        var judged = owners().judge(List.of(
                bobs().build(), env("m").user("bob").uid(MALLORY).pids(20).build()));

        assertThat(judged).extracting(each -> each.ownership().isDisputed()).containsExactly(false, true);
    }

    /** A nameless environment is counted by its uid, and somebody may call himself that. */
    @Test
    void aNameThatLooksLikeAUidIsNobodysToTake() {
        accounts = Accounts.NONE;
        var judged = owners().judge(Stream.of(
                        env("n").nameless().uid(BOB).pids(10),
                        env("m").user("1001").uid(MALLORY).pids(20))
                .map(EnvBuilder::build)
                .toList());

        assertThat(judged).allMatch(each -> each.ownership().isDisputed());
    }

    @Test
    void howManyClaimANameDoesNotMakeItsDisputeLonger() {
        var many = IntStream.range(5000, 10_000)
                .mapToObj(uid -> env("e" + uid).user("dave").uid(uid).build())
                .toList();
        assertThat(owners().judge(many))
                .allSatisfy(each ->
                        assertThat(each.ownership().dispute()).endsWith("5007 and 4992 more go by the same user name"));
    }

    @Test
    void exemptIsWhoseLivePidsAllAre() {
        exempt = Set.of(BOB);
        assertThat(isExempt(bobs())).isTrue();
        assertThat(isExempt(bobs().pids(4711))).as("4711 is dead").isTrue();
        assertThat(isExempt(bobs().pids(20))).isFalse();
        assertThat(isExempt(env("x").user("bob").uid(BOB)))
                .as("what is written proves nothing")
                .isFalse();
    }

    private static EnvBuilder bobs() {
        return env("b").user("bob").uid(BOB).pids(10);
    }

    private @Nullable String dispute(EnvBuilder environment) {
        return owners().judge(List.of(environment.build()))
                .getFirst()
                .ownership()
                .dispute();
    }

    private boolean isExempt(EnvBuilder environment) {
        return owners().judge(List.of(environment.build()))
                .getFirst()
                .ownership()
                .exempt();
    }

    private Owners owners() {
        return new Owners(uids, accounts, exempt);
    }
}
