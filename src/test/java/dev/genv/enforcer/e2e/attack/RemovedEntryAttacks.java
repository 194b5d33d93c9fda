package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import java.util.List;

/** The attacker removes or changes the victim's entries in the state. */
final class RemovedEntryAttacks {
    private RemovedEntryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayedByGrace(
                        "empties devices.json, as `genv devices --reset` does",
                        AttackSteps.writeStateAndStartStray(
                                (twoUserNode, files) -> files.device(0).device(1)),
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "truncates devices.json to 0 bytes",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker("devices.json", "");
                            AttackSteps.startStray(twoUserNode);
                        },
                        "state_unreadable",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "deletes the victim's attachment",
                        AttackSteps.writeStateAndStartStray((twoUserNode, files) -> files.device(0)),
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "deletes the victim's environment",
                        AttackSteps.writeStateAndStartStray(
                                (twoUserNode, files) -> files.withoutEnv(VICTIM_ENVIRONMENT)),
                        "inactive-env-processes",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "removes the pid of the victim's job, which names no environment, from the victim's environment",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            twoUserNode.awaitGraceOfVictimJob();
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "lowers the victim's capacity",
                        AttackSteps.writeStateAndStartStray((twoUserNode, files) -> files.env(
                                VICTIM_ENVIRONMENT,
                                TestUsers.HONEST_UID,
                                VICTIM_NAME,
                                "1m",
                                twoUserNode.victimShell())),
                        "env-memory",
                        "non-env-processes"));
    }
}
