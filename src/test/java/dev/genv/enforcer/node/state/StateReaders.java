package dev.genv.enforcer.node.state;

import dev.genv.enforcer.node.proc.ProcFs;
import java.nio.file.Path;
import java.time.Duration;

/** Creates readers of state directories. */
final class StateReaders {
    private StateReaders() {}

    static StateReader of(Path state, Duration lockTimeout, ProcFs proc) {
        return new StateReader(state, lockTimeout, new StateAccess(state, proc), new LockHolders(proc));
    }
}
