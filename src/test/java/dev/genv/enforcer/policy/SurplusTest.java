package dev.genv.enforcer.policy;

import static dev.genv.enforcer.policy.SurplusPlans.NEW;
import static dev.genv.enforcer.policy.SurplusPlans.OLD;
import static dev.genv.enforcer.policy.SurplusPlans.planWithSurplus;
import static dev.genv.enforcer.policy.SurplusPlans.planWithSurplusOfOne;
import static dev.genv.enforcer.policy.SurplusPlans.withAppearance;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Fleet.Appearances;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whether the recorded times, which every user can write, choose between devices. */
class SurplusTest {
    private static final Appearances NO_HISTORY = new Appearances(Map.of(), false);

    /** The service knows no history, so one of the attachments may be forged, and the user may not exceed the quota at all. */
    @Test
    void recordedTimesChooseNoneOfTheBusyOnes() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008)).with(NO_HISTORY);
        var plan = planWithSurplusOfOne(fleet, 2);

        assertThat(plan.actions()).isEmpty();
        assertThat(plan.violations()).hasSize(1);
        assertThat(plan.problems())
                .singleElement()
                .satisfies(problem -> assertThat(problem.problem())
                        .isEqualTo(new Problem(
                                ProblemCode.QUOTA_UNDECIDED,
                                "User raz holds 1 device(s) too many, and only the times in"
                                        + " devices.json show which ones came last: the user must detach"
                                        + " them")));
    }

    @Test
    void recordedTimesChooseWhereThatIsWanted() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008));
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    /** Only the user can start a process of this uid, so another user can only have forged the other one. */
    @Test
    void anUnprovenOneGoesBeforeAProvenOne() {
        var fleet = bothBusy(process(1).uid(1000), process(2).uid(1008)).with(NO_HISTORY);
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/1 b");
    }

    @Test
    void allUnprovenOnesGoWhereNoneNeedsToBeChosen() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008)).with(NO_HISTORY);
        var plan = planWithSurplus(2, fleet, 2);
        assertThat(detachments(plan)).containsExactly("here/0 a", "here/1 b");
        assertThat(plan.problems()).isEmpty();
    }

    @Test
    void oneThatAppearedLaterGoesBeforeThoseOfUnknownAge() {
        var fleet = bothBusy(process(1).uid(1007), process(2).uid(1008));
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "a", 0), 2)))
                .containsExactly("here/0 a");
    }

    private static Fleet bothBusy(GpuProcessBuilder inA, GpuProcessBuilder inB) {
        return host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(inA.inEnvironment("a").uses(0), inB.inEnvironment("b").uses(1))
                .fleet();
    }
}
