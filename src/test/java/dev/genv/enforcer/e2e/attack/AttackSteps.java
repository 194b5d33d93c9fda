package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.util.Map;

/** Steps that several attacks consist of. */
final class AttackSteps {
    private AttackSteps() {}

    /** The attacker changes the state, and starts a process outside of all environments. */
    static Attack.Step writeStateAndStartStray(Change change) {
        return twoUserNode -> {
            twoUserNode.writeAsAttacker(change.apply(twoUserNode, twoUserNode.validState()));
            startStray(twoUserNode);
        };
    }

    /** The attacker starts a process outside of all environments on the device that no environment holds. */
    static void startStray(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
    }

    /** What the attacker makes of the valid state. */
    interface Change {
        StateFiles apply(TwoUserNode twoUserNode, StateFiles files);
    }
}
