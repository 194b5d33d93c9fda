package dev.genv.enforcer.policy;

import static dev.genv.enforcer.policy.SurplusPlans.NEW;
import static dev.genv.enforcer.policy.SurplusPlans.OLD;
import static dev.genv.enforcer.policy.SurplusPlans.hostWithBusyNewerDevice;
import static dev.genv.enforcer.policy.SurplusPlans.planWithSurplusOfOne;
import static dev.genv.enforcer.policy.SurplusPlans.withAppearance;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.Plans.detachments;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Devices that appeared after the first observation are detached before older ones. */
class NewDeviceTest {
    /** Another user wrote the attachment in the user's name a moment ago, with any date, and runs a process there. */
    @Test
    void detachesNewDeviceFirst() {
        var forged = env("forged").attachedAt(OLD, 1);
        for (var own : List.of(
                process(1).inEnvironment("a"), process(1).inEnvironment("a").uid(1003))) {
            var fleet = host().devices(2)
                    .with(env("a").attachedAt(NEW, 0), forged)
                    .with(
                            own.uses(0),
                            process(2).inEnvironment("forged").uid(1003).uses(1))
                    .fleet();
            assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "forged", 1), 2)))
                    .containsExactly("here/1 forged");
        }
        var idle = host().devices(2).with(env("a").attachedAt(NEW, 0), forged).fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(idle, "forged", 1), 2)))
                .containsExactly("here/1 forged");
    }

    @Test
    void detachesIdleDeviceBeforeNewDeviceWithProcessOfOwnersUid() {
        var fleet = withAppearance(hostWithBusyNewerDevice().fleet(), "b", 1);
        assertThat(detachments(planWithSurplusOfOne(fleet, 2))).containsExactly("here/0 a");
    }

    @Test
    void detachesNewDeviceWithProcessOfAnotherUidBeforeIdleDevice() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(NEW, 1))
                .with(process(1).inEnvironment("b").uid(1003).uses(1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 1), 2)))
                .containsExactly("here/1 b");
    }

    /** Every user can write the recorded time, but not what the service observed. */
    @Test
    void observedAppearanceOutranksRecordedAttachTime() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(NEW, 0), env("b").attachedAt(OLD, 1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 1), 2)))
                .containsExactly("here/1 b");
    }

    @Test
    void deviceAlreadyHeldThroughAnotherEnvironmentIsNotNew() {
        var fleet = host().devices(2)
                .with(env("a").attachedAt(OLD, 0), env("b").attachedAt(OLD, 0), env("c").attachedAt(NEW, 1))
                .fleet();
        assertThat(detachments(planWithSurplusOfOne(withAppearance(fleet, "b", 0), 2)))
                .containsExactly("here/1 c");
    }
}
