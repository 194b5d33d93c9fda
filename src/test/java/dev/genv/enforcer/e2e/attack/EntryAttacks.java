package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.testsupport.state.StateFiles;
import java.util.List;

/** The attacker writes false entries into the state, or removes and changes the victim's. */
final class EntryAttacks {
    private EntryAttacks() {}

    /** False entries, in the attacker's own name or in the victim's. */
    static List<Attack> forging() {
        return List.of(
                Attack.named("names the victim's environment and fills its memory")
                        .reporting("env-memory", "env-owner")
                        .by(node -> node.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 1500)),
                Attack.named("names the victim's environment on a device that is not attached to it")
                        .reporting("env-devices", "env-owner")
                        .by(node -> node.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 2, 10)),
                Attack.named("lists the victim's pids in the attacker's environment")
                        .reporting("env-owner", "non-env-processes")
                        .by(node -> node.writeAndStartStray(
                                node.withAttackerEnvironment(node.attackerShell, node.victimShell, node.victimJob()))),
                Attack.named("forges an environment in the victim's name with every device")
                        .reporting("max-devices-per-user", "non-env-processes")
                        .by(node -> node.writeAndStartStray(node.withVictimsEnvironment("forged", node.victimShell)
                                .device(0, VICTIM_ENVIRONMENT, "forged")
                                .device(1, ATTACKER_ENVIRONMENT, "forged")
                                .device(2, "forged"))),
                Attack.named(
                                "records the victim's name, uid and pids in the attacker's environment, and uses a device that is not attached to it")
                        .reporting("env-devices", "env-owner")
                        .by(node -> {
                            node.writeAsAttacker(node.withVictimsEnvironment(
                                    ATTACKER_ENVIRONMENT, node.attackerShell, node.victimShell));
                            node.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, 2, 10);
                        }),
                Attack.named("adds an environment with the victim's id and a capacity of 1 MB")
                        .reporting("entry_unreadable", "env-owner", "environment_user_unknown", "non-env-processes")
                        .by(node -> {
                            var second = new StateFiles(node.stateDirectory)
                                    .env(VICTIM_ENVIRONMENT, ATTACKER_UID, ATTACKER_NAME, "1m", node.attackerShell)
                                    .envsJson();
                            var first = node.validState().envsJson();
                            node.writeAsAttacker(
                                    "envs.json",
                                    first.substring(0, first.lastIndexOf("\n  ]")) + ","
                                            + second.substring(second.indexOf('[') + 1));
                            node.startStray();
                        }));
    }

    static List<Attack> removing() {
        return List.of(
                Attack.named("empties devices.json, as `genv devices --reset` does")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> node.writeAndStartStray(
                                node.validState().device(0).device(1))),
                Attack.named("truncates devices.json to 0 bytes")
                        .reporting("state_unreadable", "non-env-processes")
                        .by(node -> {
                            node.writeAsAttacker("devices.json", "");
                            node.startStray();
                        }),
                Attack.named("deletes the victim's attachment")
                        .delayedByGrace()
                        .reporting("env-devices", "non-env-processes")
                        .by(node -> node.writeAndStartStray(node.validState().device(0))),
                Attack.named(
                                "deletes the entry of a device from devices.json, and uses the device in the attacker's environment")
                        .reporting("device_undescribed", "env-devices")
                        .by(node -> {
                            node.writeAsAttacker(node.validState().withoutDevice(2));
                            node.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, 2, 10);
                        }),
                Attack.named("deletes the victim's environment")
                        .delayedByGrace()
                        .reporting("inactive-env-processes", "non-env-processes")
                        .by(node -> node.writeAndStartStray(node.validState().withoutEnv(VICTIM_ENVIRONMENT))),
                Attack.named(
                                "removes the pid of the victim's job, which names no environment, from the victim's environment")
                        .delayedByGrace()
                        .reporting("non-env-processes")
                        .by(node -> {
                            node.restartVictimJobThroughSdk();
                            node.writeAsAttacker(node.validState());
                            node.awaitGraceOfVictimJob();
                            node.startStray();
                        }),
                Attack.named("lowers the victim's capacity")
                        .delayedByGrace()
                        .reporting("env-memory", "non-env-processes")
                        .by(node -> node.writeAndStartStray(node.validState()
                                .env(VICTIM_ENVIRONMENT, HONEST_UID, VICTIM_NAME, "1m", node.victimShell))));
    }
}
