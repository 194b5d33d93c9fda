package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Attacks on entries that the service never observed: the attacker changes bob's new entry before the next observation. */
final class UnobservedAttacks {
    /** A device that no environment holds before the attack. */
    private static final int DEVICE = 2;

    static final String NEW_ENVIRONMENT = "new";
    private static final int CONTAINER_UID = 54_003;

    private UnobservedAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayedByGrace(
                        "deletes the victim's new attachment before the service observes it",
                        twoUserNode -> {
                            twoUserNode.closeVictimJob();
                            twoUserNode.writeAsAttacker(
                                    withoutAttachment(twoUserNode).device(DEVICE, VICTIM_ENVIRONMENT));
                            twoUserNode.startVictimJob(inEnvironment(VICTIM_ENVIRONMENT));
                            twoUserNode.writeAsAttacker(withoutAttachment(twoUserNode));
                            startBothGpuProcesses(twoUserNode);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "deletes the victim's new environment before the service observes it",
                        twoUserNode -> {
                            twoUserNode.closeVictimJob();
                            twoUserNode.writeAsAttacker(withNewEnvironment(twoUserNode, null));
                            twoUserNode.startVictimJob(inEnvironment(NEW_ENVIRONMENT));
                            twoUserNode.writeAsAttacker(withoutAttachment(twoUserNode));
                            startBothGpuProcesses(twoUserNode);
                        },
                        "inactive-env-processes",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "lowers the capacity of the victim's new environment before the service observes it",
                        twoUserNode -> {
                            twoUserNode.closeVictimJob();
                            twoUserNode.writeAsAttacker(withNewEnvironment(twoUserNode, null));
                            twoUserNode.startVictimJob(inEnvironment(NEW_ENVIRONMENT));
                            twoUserNode.writeAsAttacker(withNewEnvironment(twoUserNode, "1m"));
                            startBothGpuProcesses(twoUserNode);
                        },
                        "env-memory",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "removes the pid of the victim's new SDK job before the service observes it",
                        twoUserNode -> {
                            twoUserNode.closeVictimJob();
                            twoUserNode.startVictimJob(Map.of());
                            twoUserNode.writeAsAttacker(withoutAttachment(twoUserNode)
                                    .env(
                                            VICTIM_ENVIRONMENT,
                                            TestUsers.HONEST_UID,
                                            VICTIM_NAME,
                                            "1000mi",
                                            twoUserNode.victimShell(),
                                            twoUserNode.victimJob()));
                            twoUserNode.writeAsAttacker(withoutAttachment(twoUserNode));
                            startBothGpuProcesses(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.preventingTermination(
                        "forges an old environment in the victim's name while the service is stopped, and uses its"
                                + " device",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(CONTAINER_UID);
                            twoUserNode.restartServiceAfter(_ -> {
                                twoUserNode.writeAsAttacker(twoUserNode
                                        .validState()
                                        .env(
                                                "forged",
                                                TestUsers.HONEST_UID,
                                                VICTIM_NAME,
                                                null,
                                                twoUserNode.victimShell())
                                        .device(DEVICE, new Attachment("forged", null, "01/01/2020 00:00:00")));
                                twoUserNode.useGpuAsAttacker(inEnvironment("forged"), DEVICE, 10);
                            });
                        },
                        "env-owner",
                        "max-devices-per-user",
                        "quota_undecided"));
    }

    private static StateFiles withoutAttachment(TwoUserNode twoUserNode) {
        return twoUserNode.validState().device(0);
    }

    private static StateFiles withNewEnvironment(TwoUserNode twoUserNode, @Nullable String capacity) {
        return withoutAttachment(twoUserNode)
                .env(NEW_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, capacity, twoUserNode.victimShell())
                .device(DEVICE, NEW_ENVIRONMENT);
    }

    private static Map<String, String> inEnvironment(String eid) {
        return Map.of("GENV_ENVIRONMENT_ID", eid);
    }

    private static void startBothGpuProcesses(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsVictim(DEVICE);
        twoUserNode.useGpuAsAttacker(Map.of(), 1, 10);
    }
}
