package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.TestUsers;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Attacks on the observation of a node. */
final class NodeAttacks {
    private static final int PROCESSES = 1500;

    private NodeAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "starts 1,500 processes that share one megabyte of arguments, and adds an environment with a Jupyter kernel",
                        twoUserNode -> {
                            processesWithLongArguments(twoUserNode);
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            "kernel",
                                            TestUsers.ATTACKER_UID,
                                            TwoUserNode.ATTACKER_NAME,
                                            null,
                                            List.of(),
                                            List.of("one")));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.withoutEffect(
                        "attaches the attacker's environment to a device that does not exist",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(
                                    twoUserNode.validState().device(1).device(99, TwoUserNode.ATTACKER_ENVIRONMENT));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "device_unlisted",
                        "non-env-processes"),
                ReusedPidAttack.attack());
    }

    /**
     * 115,000 arguments are nearly as many as Linux takes, and one megabyte. The children share them with their parent. They exit with it, because they wait for the end of a pipe that it holds.
     */
    private static void processesWithLongArguments(TwoUserNode twoUserNode) throws IOException {
        var fork = "for (1..%d) { if (!fork) { close(W); sysread(R, $x, 1); exit } }".formatted(PROCESSES);
        twoUserNode.startAsAttacker(
                "exec perl -e 'pipe(R, W); %s open(F, \">forked\"); close(F); sleep 600' $(seq 1000001 1115000)"
                        .formatted(fork),
                Map.of(),
                "perl");
        twoUserNode.awaitFile("forked");
    }
}
