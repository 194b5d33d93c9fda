package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.journal.ActionIntent;
import dev.genv.enforcer.enforcement.journal.CycleCommit;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Something that the thread of the journal does. */
sealed interface JournalTask {
    /** A task whose end is awaited. */
    sealed interface Awaited extends JournalTask {
        /** Reaches zero when the task is done, also if it failed. */
        CountDownLatch done();
    }

    record Begin(List<ActionIntent> intents, CountDownLatch done) implements Awaited {}

    record End(ActionIntent.Outcome outcome) implements JournalTask {}

    record Commit(CycleCommit cycle, CountDownLatch done) implements Awaited {}

    /** The last task. */
    record Close(CountDownLatch done) implements Awaited {}
}
