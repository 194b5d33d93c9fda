package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.model.device.Attachment;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.util.List;
import java.util.stream.IntStream;

/** Attacks on the history that the service keeps of the state. */
final class HistoryAttacks {
    private static final int CONTAINER_UID = 54_003;
    private static final int MEGABYTE = 1 << 20;
    private static final int LARGE_WRITES = 30;
    private static final int KERNELS = 5;

    private HistoryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayedByStartGrace(
                        "deletes the victim's attachment, and the service is restarted",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(twoUserNode.validState().device(0));
                            twoUserNode.awaitGraceOfVictimJob();
                            twoUserNode.restartServiceAfter(_ -> {});
                            AttackSteps.startStray(twoUserNode);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByStartGrace(
                        "removes the pid of the victim's SDK job, and the service is restarted",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            twoUserNode.awaitGraceOfVictimJob();
                            twoUserNode.restartServiceAfter(_ -> {});
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an old environment in the victim's name while the victim's job runs in a container",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(CONTAINER_UID);
                            twoUserNode.writeAsAttacker(withForgedEnvironment(twoUserNode.validState(), twoUserNode));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "env-owner",
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an old environment in the victim's name while the victim's job uses the SDK",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(withForgedEnvironment(
                                    twoUserNode
                                            .validState()
                                            .env(
                                                    VICTIM_ENVIRONMENT,
                                                    TestUsers.HONEST_UID,
                                                    VICTIM_NAME,
                                                    "1000mi",
                                                    twoUserNode.victimShell(),
                                                    twoUserNode.victimJob()),
                                    twoUserNode));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "max-devices-per-user",
                        "membership_unknown",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "writes 5 MB of Jupyter kernels into the attacker's environments, thirty times",
                        twoUserNode -> {
                            for (var write = 0; write < LARGE_WRITES; write++) {
                                twoUserNode.writeAsAttacker(withKernels(twoUserNode, write));
                                twoUserNode.awaitTwoObservations();
                            }
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"));
    }

    private static StateFiles withForgedEnvironment(StateFiles files, TwoUserNode twoUserNode) {
        return files.env("forged", TestUsers.HONEST_UID, VICTIM_NAME, null, twoUserNode.victimShell())
                .device(2, new Attachment("forged", null, "01/01/2020 00:00:00"));
    }

    private static StateFiles withKernels(TwoUserNode twoUserNode, int write) {
        var files = twoUserNode.validState();
        IntStream.range(0, KERNELS)
                .forEach(i -> files.env(
                        "kernels-%d-%d".formatted(write, i),
                        TestUsers.ATTACKER_UID,
                        ATTACKER_NAME,
                        null,
                        List.of(twoUserNode.attackerShell()),
                        List.of("k".repeat(MEGABYTE))));
        return files;
    }
}
