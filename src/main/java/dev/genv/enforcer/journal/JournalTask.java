package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Something that the thread of the journal does. */
sealed interface JournalTask {
    /** A task whose end is awaited. */
    sealed interface Awaited extends JournalTask {
        /** Gets the result: whether the task is on the disk. */
        CompletableFuture<Boolean> done();
    }

    record Begin(List<ActionIntent> intents, CompletableFuture<Boolean> done) implements Awaited {}

    record End(ActionIntent.Outcome outcome) implements JournalTask {}

    record Commit(CycleCommit cycle, CompletableFuture<Boolean> done) implements Awaited {}

    /** The last task. */
    record Close(CompletableFuture<Boolean> done) implements Awaited {}
}
