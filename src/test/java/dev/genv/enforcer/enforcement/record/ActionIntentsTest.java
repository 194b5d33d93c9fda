package dev.genv.enforcer.enforcement.record;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.util.List;
import org.junit.jupiter.api.Test;

class ActionIntentsTest {
    private static final PlannedAction PLANNED =
            new PlannedAction(new Action.Terminate("here", process(1).uses(0).build()), List.of(), true);

    private final ActionIntents intents = new ActionIntents(new NoStore(), 7, new FakeTime().ticker());

    @Test
    void anActionThatWasNotExecutedLeavesAnEqualOneThatHangsAlone() {
        var hangs = begin();
        intents.abandon(begin());
        assertThat(intents.unstored().open()).containsExactly(hangs);
        assertThat(intents.unstored().dropped()).containsExactly(9L);

        var late = end(hangs, Outcome.SIGNALLED);
        assertThat(intents.unrecorded()).containsExactly(late);
        intents.recorded(List.of(late), List.of());
        assertThat(intents.unstored().done()).as("it had an effect").containsExactly(late);
    }

    @Test
    void aResultCountsOnce() {
        var intent = begin();
        var first = end(intent, Outcome.SIGNALLED);
        end(intent, Outcome.FAILED);
        intents.abandon(intent);
        assertThat(intents.unrecorded()).containsExactly(first);
        assertThat(intents.unstored().dropped()).isEmpty();
    }

    @Test
    void aResultThatNoCycleHasRecordedIsStillAnIntentInANewDatabase() {
        var done = end(begin(), Outcome.SIGNALLED);
        assertThat(intents.unstored().open()).containsExactly(done);
        intents.recorded(List.of(), List.of());
        assertThat(intents.unrecorded()).as("it arrived meanwhile").containsExactly(done);
    }

    @Test
    void keepsWhatTheStoreHasNotConfirmed() {
        var repeated = end(begin(), Outcome.FAILED);
        var exit = new ActionRecord(PLANNED, Result.of(Outcome.EXITED), FakeTime.START);
        var held = new ActionRecord(PLANNED, new Result(Outcome.SKIPPED_AUDIT, "audit"), FakeTime.START);
        intents.recorded(List.of(repeated, exit, held), List.of(exit, held));

        var changes = intents.unstored();
        assertThat(changes.done()).containsExactly(new ActionRecord(9, PLANNED, exit.result(), exit.at()));
        assertThat(changes.dropped()).containsExactly(repeated.id());
        intents.stored(changes);
        assertThat(intents.unstored()).isEqualTo(Store.ActionChanges.NONE);
    }

    private ActionRecord begin() {
        return intents.begin(List.of(new Order.Run(PLANNED))).getFirst();
    }

    private ActionRecord end(ActionRecord intent, Outcome outcome) {
        var done = new ActionRecord(intent.id(), PLANNED, Result.of(outcome), FakeTime.START);
        intents.end(done);
        return done;
    }
}
