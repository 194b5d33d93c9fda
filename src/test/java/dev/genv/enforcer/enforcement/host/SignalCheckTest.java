package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Machine.DeviceUse;
import dev.genv.enforcer.enforcement.host.Machine.Examined;
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
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.ImmunityRules;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A process whose membership was inferred or remembered is compared by its environ, and nothing is inferred again. */
class SignalCheckTest {
    private static final long ALICE = 1003;
    private static final ProcessId PROCESS = new ProcessId(812, 1);
    private static final Membership IN_A = new Membership.InEnvironment("a");
    private static final Result CHANGED = Result.failed("its identity has changed since the rules were checked");
    private static final EnvironFacts OVERWRITTEN = new EnvironFacts(22, Bytes.EMPTY, "", false, Bytes.EMPTY);

    private final SignalCheck check = new SignalCheck();

    @Test
    void programThatHadOverwrittenItsEnvironIsTheSame() {
        assertThat(refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7000)).isEmpty();
        assertThat(refusal(IN_A, new Content.Overwritten(), intact("a"), 7000)).isEmpty();
    }

    /** Otherwise it would escape by overwriting its environ before each signal. */
    @Test
    void programThatOverwritesItsEnvironSinceTheCheckIsTheSame() {
        assertThat(refusal(IN_A, new Content.Intact(IN_A), OVERWRITTEN, 7000)).isEmpty();
        var outside = new Membership.Outside();
        assertThat(refusal(outside, new Content.Intact(outside), OVERWRITTEN, 7000))
                .isEmpty();
    }

    @Test
    void otherProgramWithAnOverwrittenEnvironIsRefusedTwice() {
        for (var cycle = 0; cycle < SignalCheck.MAX_CHANGES; cycle++) {
            assertThat(refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100))
                    .contains(CHANGED);
            check.recordObservation();
        }
        assertThat(refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100)).isEmpty();
        observe(6);
        assertThat(refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100)).isEmpty();
    }

    /** A program that executes others in turn can be caught twice in its life by chance. */
    @Test
    void changesThatAreLongAgoDoNotCount() {
        refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100);
        refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100);
        observe(7);
        assertThat(refusal(IN_A, new Content.Overwritten(), OVERWRITTEN, 7100)).contains(CHANGED);
    }

    private void observe(int times) {
        for (var i = 0; i < times; i++) {
            check.recordObservation();
        }
    }

    /** It was inferred to be outside, and its present program may be in an environment. */
    @Test
    void otherProgramOfAProcessOutsideIsRefused() {
        var outside = new Membership.Outside();
        assertThat(refusal(outside, new Content.Overwritten(), OVERWRITTEN, 7100))
                .contains(CHANGED);
        assertThat(refusal(outside, new Content.Overwritten(), intact("a"), 7000))
                .contains(CHANGED);
    }

    @Test
    void processThatChangesAgainAndAgainNeedNotStayTheSame() {
        var examined = examined(intact("a"), 7000);
        assertThat(check.digest(examined, PROCESS)).isEqualTo(examined.digest());
        check.recordChange(PROCESS);
        assertThat(check.digest(examined, PROCESS)).isEqualTo(examined.digest());
        check.recordChange(PROCESS);
        assertThat(check.digest(examined, PROCESS)).isNull();
    }

    /** Only a rule of real uids chooses it, so its environ need not answer. */
    @Test
    void processOfUnknownMembershipIsTheSameWhileItHasTheUid() {
        var unknown = new Membership.Unknown("its environ does not answer");
        var silent = new ProcessFacts(
                812,
                Reading.of(stat(7000)),
                Reading.of(ALICE),
                Reading.failed(Failure.TIMEOUT, ""),
                Reading.failed(Failure.ABSENT, ""),
                Reading.of(stat(7000)));
        var now = new Examined(silent, DeviceUse.PROVEN, "digest");
        var environ = ProgramEnviron.unavailable(unknown);
        var rules = new ImmunityRules(7, ExemptUsers.NONE, List.of());
        var process = new GpuProcess(PROCESS, ALICE, "python", unknown, List.of());
        assertThat(check.refusal(process, environ, now, rules)).isEmpty();
        var changed = new GpuProcess(PROCESS, ALICE + 1, "python", unknown, List.of());
        assertThat(check.refusal(changed, environ, now, rules)).isPresent();
        var outside = new GpuProcess(PROCESS, ALICE, "python", new Membership.Outside(), List.of());
        assertThat(check.refusal(outside, environ, now, rules)).isPresent();
    }

    private Optional<Result> refusal(Membership membership, Content content, EnvironFacts now, long begin) {
        var process = new GpuProcess(
                PROCESS, ALICE, "python", membership, MembershipSource.ANCESTOR, List.of(), null, null, null);
        var environ = new ProgramEnviron(content, new Addresses(6000, 7000, 7000, 7022));
        return check.refusal(process, environ, examined(now, begin), new ImmunityRules(7, ExemptUsers.NONE, List.of()));
    }

    private static Examined examined(EnvironFacts environ, long begin) {
        return new Examined(now(environ, begin), DeviceUse.PROVEN, "digest");
    }

    private static ProcessFacts now(EnvironFacts environ, long begin) {
        var stat = Reading.of(stat(begin));
        return new ProcessFacts(
                812, stat, Reading.of(ALICE), Reading.of(environ), Reading.failed(Failure.ABSENT, ""), stat);
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
