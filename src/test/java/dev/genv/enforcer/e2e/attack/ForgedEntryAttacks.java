package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.util.List;
import java.util.Map;

/** The attacker writes false entries into the state, in the attacker's own name or in the victim's. */
final class ForgedEntryAttacks {
    private static final Map<String, String> IN_VICTIM_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT);
    private static final Map<String, String> IN_ATTACKER_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT);

    private ForgedEntryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "names the victim's environment and fills its memory",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 1500),
                        "env-memory",
                        "env-owner"),
                Attack.withoutEffect(
                        "names the victim's environment on a device that is not attached to it",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 2, 10),
                        "env-devices",
                        "env-owner"),
                Attack.withoutEffect(
                        "lists the victim's pids in the attacker's environment",
                        AttackSteps.writeStateAndStartStray((twoUserNode, files) -> files.env(
                                ATTACKER_ENVIRONMENT,
                                TestUsers.ATTACKER_UID,
                                ATTACKER_NAME,
                                null,
                                twoUserNode.attackerShell(),
                                twoUserNode.victimShell(),
                                twoUserNode.victimJob())),
                        "env-owner",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an environment in the victim's name with every device",
                        AttackSteps.writeStateAndStartStray((twoUserNode, files) -> files.env(
                                        "forged", TestUsers.HONEST_UID, VICTIM_NAME, null, twoUserNode.victimShell())
                                .device(0, VICTIM_ENVIRONMENT, "forged")
                                .device(1, ATTACKER_ENVIRONMENT, "forged")
                                .device(2, "forged")),
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "records the victim's name, uid and pids in the attacker's environment, and uses a device that is not attached to it",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            ATTACKER_ENVIRONMENT,
                                            TestUsers.HONEST_UID,
                                            VICTIM_NAME,
                                            null,
                                            twoUserNode.attackerShell(),
                                            twoUserNode.victimShell()));
                            twoUserNode.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, 2, 10);
                        },
                        "env-devices",
                        "env-owner"),
                Attack.withoutEffect(
                        "adds an environment with the victim's id and a capacity of 1 MB",
                        twoUserNode -> {
                            var second = new StateFiles(twoUserNode.node.stateDirectory)
                                    .env(
                                            VICTIM_ENVIRONMENT,
                                            TestUsers.ATTACKER_UID,
                                            ATTACKER_NAME,
                                            "1m",
                                            twoUserNode.attackerShell())
                                    .envsJson();
                            var first = twoUserNode.validState().envsJson();
                            twoUserNode.writeAsAttacker(
                                    "envs.json",
                                    first.substring(0, first.lastIndexOf("\n  ]")) + ","
                                            + second.substring(second.indexOf('[') + 1));
                            AttackSteps.startStray(twoUserNode);
                        },
                        "entry_unreadable",
                        "env-owner",
                        "non-env-processes",
                        "environment_user_unknown"));
    }
}
