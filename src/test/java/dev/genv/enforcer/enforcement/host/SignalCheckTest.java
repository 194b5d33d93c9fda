package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import dev.genv.enforcer.observation.process.IdentityFlapping;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** A process whose membership was inferred or remembered is compared by its environ, and nothing is inferred again. */
class SignalCheckTest {
    private static final long ALICE = 1003;
    private static final Membership IN_A = new Membership.InEnvironment("a");
    private static final Result CHANGED = Result.failed("its identity has changed since the rules were checked");
    private static final EnvironFacts OVERWRITTEN = new EnvironFacts(22, Bytes.EMPTY, "", false, Bytes.EMPTY);

    private final IdentityFlapping identityFlapping = new IdentityFlapping();

    @Test
    void programThatHadOverwrittenItsEnvironIsTheSame() {
        assertThat(check(IN_A, new Content.Overwritten()).refusal(now(OVERWRITTEN, 7000), List.of()))
                .isEmpty();
        assertThat(check(IN_A, new Content.Overwritten()).refusal(now(intact("a"), 7000), List.of()))
                .isEmpty();
    }

    /** Otherwise it would escape by overwriting its environ before each signal. */
    @Test
    void programThatOverwritesItsEnvironSinceTheCheckIsTheSame() {
        assertThat(check(IN_A, new Content.Intact(IN_A)).refusal(now(OVERWRITTEN, 7000), List.of()))
                .isEmpty();
        var outside = new Membership.Outside();
        assertThat(check(outside, new Content.Intact(outside)).refusal(now(OVERWRITTEN, 7000), List.of()))
                .isEmpty();
    }

    @Test
    void otherProgramWithAnOverwrittenEnvironIsRefusedTwice() {
        for (var cycle = 0; cycle < IdentityFlapping.MAX_CHANGES; cycle++) {
            assertThat(check(IN_A, new Content.Overwritten()).refusal(now(OVERWRITTEN, 7100), List.of()))
                    .contains(CHANGED);
        }
        assertThat(check(IN_A, new Content.Overwritten()).refusal(now(OVERWRITTEN, 7100), List.of()))
                .isEmpty();
    }

    /** It was inferred to be outside, and its present program may be in an environment. */
    @Test
    void otherProgramOfAProcessOutsideIsRefused() {
        var check = check(new Membership.Outside(), new Content.Overwritten());
        assertThat(check.refusal(now(OVERWRITTEN, 7100), List.of())).contains(CHANGED);
        assertThat(check.refusal(now(intact("a"), 7000), List.of())).contains(CHANGED);
    }

    @Test
    void machineThatComparesItselfIsAnsweredLikewise() {
        var check = check(IN_A, new Content.Overwritten());
        assertThat(check.refusal(ALICE, present(OVERWRITTEN, 7000))).isEmpty();
        assertThat(check.refusal(ALICE, present(OVERWRITTEN, 7100))).contains(CHANGED);
        assertThat(check.refusal(ALICE, new SignalCheck.Present(OVERWRITTEN, bytes("nonsense"))))
                .contains(CHANGED);
        assertThat(check.refusal(ALICE, null)).isEmpty();
    }

    private SignalCheck check(Membership membership, Content content) {
        var rules = new ImmunityRules(7, Set.of(), List.of());
        var process = new GpuProcess(
                new ProcessId(812, 1),
                ALICE,
                "python",
                membership,
                MembershipSource.ANCESTOR,
                List.of(),
                null,
                null,
                null);
        return new SignalCheck(
                process,
                new ProgramEnviron(content, new Addresses(6000, 7000, 7000, 7022)),
                _ -> rules,
                rules,
                identityFlapping);
    }

    private static ProcessFacts now(EnvironFacts environ, long begin) {
        var stat = Reading.of(stat(begin));
        return new ProcessFacts(
                812, stat, Reading.of(ALICE), Reading.of(environ), Reading.failed(Failure.ABSENT, ""), stat);
    }

    private static SignalCheck.Present present(EnvironFacts environ, long begin) {
        return new SignalCheck.Present(environ, stat(begin));
    }

    private static EnvironFacts intact(String eid) {
        return new EnvironFacts(22, bytes(eid), "", true, Bytes.EMPTY);
    }

    private static Bytes stat(long begin) {
        var text = new StringBuilder("812 (python) S");
        for (var field = 4; field <= 52; field++) {
            text.append(' ')
                    .append(
                            switch (field) {
                                case 48 -> 6000;
                                case 49, 50 -> begin;
                                case 51 -> begin + 22;
                                default -> 1;
                            });
        }
        return bytes(text.toString());
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.US_ASCII));
    }
}
