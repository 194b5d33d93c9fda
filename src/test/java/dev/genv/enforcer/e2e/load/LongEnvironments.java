package dev.genv.enforcer.e2e.load;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.stream.IntStream;

/**
 * Environments of users with long names, each above a quota of one device: one violation each.
 *
 * @param shell its process keeps the environments alive
 */
record LongEnvironments(Node node, Child shell, int users) {
    private static final String LONG_TEXT = "\u20ac" + "x".repeat(4_000);

    /** Replaces the environments of the cycle before. The name of each user begins with the cycle. */
    void write(int cycle) throws IOException {
        var eids = IntStream.range(0, users)
                .mapToObj(user -> "%d-%d".formatted(cycle, user))
                .toArray(String[]::new);
        for (var eid : eids) {
            node.state.env(eid, TestUsers.ATTACKER_UID, eid + LONG_TEXT, null, shell.pid());
        }
        node.state.device(0, eids).device(1, eids).device(2).write();
        for (var eid : eids) {
            node.state.withoutEnv(eid);
        }
    }
}
