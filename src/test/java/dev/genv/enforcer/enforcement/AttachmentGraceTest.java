package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.testsupport.FakeTime;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** An attachment that vanishes from the state counts for a while. */
class AttachmentGraceTest extends GraceFixture {
    @Test
    void anAttachmentThatVanishedIsMissedForAWhile() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        cycles(69);

        assertThat(node.performed).isEmpty();
        assertThat(onlyEntry().change()).satisfies(change -> {
            assertThat(change.before()).isEqualTo("attached to device(s) 0");
            assertThat(change.after()).isEqualTo("not attached to device(s) 0");
            assertThat(change.at()).isEqualTo(FakeTime.START.plus(BEGIN).plusSeconds(10));
        });
        assertThat(onlyEntry().actions()).singleElement().satisfies(note -> {
            assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_GRACE);
            assertThat(note.detail()).contains("seen for 60 s", "before, attached to device(s) 0");
        });

        cycles(70);
        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).as("stays known").isNotNull();
    }

    @Test
    void oneThatNeverWasIsNotMissed() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0).uses(1)));

        assertThat(node.performed).as("device 1 was never its own").hasSize(1);
    }

    @Test
    void oneThatIsPutBackIsNoLoss() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(20), at(a().attached(0), inA().uses(0)));
        cycles(70, 200);

        assertThat(node.performed).isEmpty();
        assertThat(journal.find(JournalEntry::active, 10)).isEmpty();
    }

    /** Whoever takes away and puts back in turn would use many devices and hold few. */
    @Test
    void theTimeOfSeveralLossesIsCountedTogether() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(50), at(a().attached(0), inA().uses(0)));
        shows(at(60), at(a(), inA().uses(0)));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whoHasUsedItUpHasNoneLeft() {
        node.answers(_ -> Result.of(Outcome.ALREADY_GONE)); // and so tried every time
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        cycles(70, 80);
        shows(at(90), at(a().attached(0), inA().uses(0)));
        assertThat(node.performed).hasSize(2);
        shows(at(100), at(a(), inA().uses(0)));

        assertThat(node.performed).hasSize(3);
    }

    @Test
    void anAttachmentThatStoodForAnHourHasItsTimeAgain() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(50), at(a().attached(0), inA().uses(0)));
        cycles(3651);
        shows(at(3660), at(a(), inA().uses(0)));
        cycles(3719);
        assertThat(node.performed).isEmpty();

        cycles(3720);
        assertThat(node.performed).hasSize(1);
    }

    /** Also when the process comes to the device only afterwards: it was in its right when it was started. */
    @Test
    void aProcessThatComesLaterHasAllItsTime() {
        shows(at(0), at(a().attached(0)));
        shows(at(10), at(a()));
        shows(at(200), at(a(), inA().uses(0)));
        cycles(259);
        assertThat(node.performed).isEmpty();

        cycles(260);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatCannotBeReadForAWhileHasNotVanished() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a().attached(0), inA().uses(0)).without(Part.ATTACHMENTS));
        shows(at(20), at(a(), inA().uses(0)));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    /** A device that devices.json lacks is not judged; when it is there again, without the attachment, the time begins. */
    @Test
    void aDeviceThatWasNotDescribedHasNotLostItsAttachments() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)).undescribed(0));
        shows(at(100), at(a(), inA().uses(0)));
        cycles(159);
        assertThat(node.performed).isEmpty();

        cycles(160);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void anAttachmentThatVanishesWhileTheGpuToolFailsIsMissed() {
        shows(at(0), host().devices(2));
        node.at(1_000_000);
        shows(at(10), unlisted(env("b").pids(7).attached(0)));
        node.at(1_001_000);
        var job = process(1).in("b").later(10_000).uses(0);
        shows(at(20), at(env("b").pids(7), job));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatWeDetachedOurselvesIsNotMissed() {
        limits = new DeviceLimits(0, Map.of());
        node.answers(action -> Result.of(
                action instanceof Action.Detach ? Outcome.DETACHED : Outcome.ALREADY_GONE)); // and asked for again
        shows(at(0), at(a().attached(0), inA().uses(0)));
        cycles(60);
        assertThat(node.performed).hasSize(2);

        shows(at(70), at(a(), inA().uses(0)));
        assertThat(node.performed).as("it is ended at once").hasSize(3);
    }
}
