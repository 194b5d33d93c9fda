package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** An attachment that vanishes from the state counts for a while. */
class AttachmentGraceTest extends GraceFixture {
    @Test
    void vanishedAttachmentGetsStateChangeGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));
        runCycles(69);

        assertThat(node.executed).isEmpty();
        assertThat(onlyEntry().change()).satisfies(change -> {
            assertThat(change.before()).isEqualTo("attached to device(s) 0");
            assertThat(change.after()).isEqualTo("not attached to device(s) 0");
            assertThat(change.at()).isEqualTo(FakeTime.START.plus(BEGIN).plusSeconds(10));
        });
        assertThat(onlyEntry().actions()).singleElement().satisfies(note -> {
            assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_GRACE);
            assertThat(note.detail()).contains("reported for 60 s", "before, attached to device(s) 0");
        });

        runCycles(70);
        assertThat(node.executed).hasSize(1);
        assertThat(onlyEntry().change()).as("stays known").isNotNull();
    }

    @Test
    void attachmentThatNeverExistedGetsNoGrace() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0).uses(1)));

        assertThat(node.executed).as("device 1 was never its own").hasSize(1);
    }

    @Test
    void restoredAttachmentCausesNoViolation() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));
        observe(at(20), at(a().attached(0), inA().uses(0)));
        runCycles(70, 200);

        assertThat(node.executed).isEmpty();
        assertThat(registry.find(ViolationRecord::active, 10)).isEmpty();
    }

    /** Otherwise a user could detach and attach in turn, and use more devices than the quota. */
    @Test
    void graceTimeOfRepeatedLossesAddsUp() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));
        observe(at(50), at(a().attached(0), inA().uses(0)));
        observe(at(60), at(a(), inA().uses(0)));
        runCycles(79);
        assertThat(node.executed).isEmpty();

        runCycles(80);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void usedUpGraceIsNotGrantedAgainWithinAnHour() {
        node.answerWith(_ -> Result.of(Outcome.ALREADY_GONE)); // and so tried every time
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));
        runCycles(70, 80);
        observe(at(90), at(a().attached(0), inA().uses(0)));
        assertThat(node.executed).hasSize(2);
        observe(at(100), at(a(), inA().uses(0)));

        assertThat(node.executed).hasSize(3);
    }

    @Test
    void graceIsGrantedAgainAfterAnHourAttached() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)));
        observe(at(50), at(a().attached(0), inA().uses(0)));
        runCycles(3651);
        observe(at(3660), at(a(), inA().uses(0)));
        runCycles(3719);
        assertThat(node.executed).isEmpty();

        runCycles(3720);
        assertThat(node.executed).hasSize(1);
    }

    /** Also when the process comes to the device only afterwards: it was in its right when it was started. */
    @Test
    void laterProcessGetsTheFullGrace() {
        observe(at(0), at(a().attached(0)));
        observe(at(10), at(a()));
        observe(at(200), at(a(), inA().uses(0)));
        runCycles(259);
        assertThat(node.executed).isEmpty();

        runCycles(260);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void unreadableAttachmentsDoNotCountAsVanished() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a().attached(0), inA().uses(0)).missing(SnapshotPart.ATTACHMENTS));
        observe(at(20), at(a(), inA().uses(0)));
        runCycles(79);
        assertThat(node.executed).isEmpty();

        runCycles(80);
        assertThat(node.executed).hasSize(1);
    }

    /** A device that devices.json lacks is not judged; when it is there again, without the attachment, the time begins. */
    @Test
    void deviceMissingFromTheStateDoesNotCountAsDetached() {
        observe(at(0), at(a().attached(0), inA().uses(0)));
        observe(at(10), at(a(), inA().uses(0)).undescribed(0));
        observe(at(100), at(a(), inA().uses(0)));
        runCycles(159);
        assertThat(node.executed).isEmpty();

        runCycles(160);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void attachmentThatVanishesDuringGpuToolFailureGetsGrace() {
        observe(at(0), host().devices(2));
        node.setTicks(1_000_000);
        observe(at(10), unlisted(env("b").pids(7).attached(0)));
        node.setTicks(1_001_000);
        var job = process(1).inEnvironment("b").startedLaterBy(10_000).uses(0);
        observe(at(20), at(env("b").pids(7), job));
        runCycles(79);
        assertThat(node.executed).isEmpty();

        runCycles(80);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void detachmentByTheServiceGetsNoGrace() {
        limits = new Limits(0, Map.of());
        node.answerWith(action -> Result.of(
                action instanceof Action.Detach ? Outcome.DETACHED : Outcome.ALREADY_GONE)); // and asked for again
        observe(at(0), at(a().attached(0), inA().uses(0)));
        runCycles(60);
        assertThat(node.executed).hasSize(2);

        observe(at(70), at(a(), inA().uses(0)));
        assertThat(node.executed).as("it is ended at once").hasSize(3);
    }
}
