package dev.genv.enforcer.enforcement.machine;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.facts.StateFacts.LockFacts;
import dev.genv.enforcer.facts.StateFacts.StateFile;

/** What came of an order. */
public sealed interface Reply {
    /** It has this result. */
    record Finished(Result result) implements Reply {}

    /** Nothing was detached, because genv's lock was not available. */
    record Locked(LockFacts lock) implements Reply {}

    /** Nothing was detached, because {@code devices.json} could not be read. */
    record Unreadable(StateFile.Unreadable devices) implements Reply {}

    /** The state directory did not answer, or was not accessed. The order may have been executed. */
    record Inaccessible(Directory directory) implements Reply {}
}
