package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The attacker's process hides its program or its environment. */
final class DisguiseAttacks {
    private static final Map<String, String> IN_ATTACKER_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT);

    private DisguiseAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "runs a program with the name `nvidia-cuda-mps-server`",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "cp /usr/bin/sleep nvidia-cuda-mps-server && exec ./nvidia-cuda-mps-server 600",
                                        Map.of(),
                                        "nvidia-cuda-mps"),
                                2,
                                10),
                        "non-env-processes"),
                Attack.preventingTermination(
                        "overwrites the environment variables of the attacker's process",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(startWithOverwrittenEnviron(twoUserNode), 2, 10),
                        "membership_unknown"),
                Attack.preventingTermination(
                        "does the same, and lists its pid in the attacker's environment",
                        twoUserNode -> {
                            var process = startWithOverwrittenEnviron(twoUserNode);
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            ATTACKER_ENVIRONMENT,
                                            TestUsers.ATTACKER_UID,
                                            ATTACKER_NAME,
                                            null,
                                            twoUserNode.attackerShell(),
                                            process.pid()));
                            twoUserNode.useGpuAsAttacker(process, 2, 10);
                        },
                        "membership_unknown"),
                Attack.withoutEffect(
                        "sets an id that cannot be decoded",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "GENV_ENVIRONMENT_ID=$(printf '\\377\\376') exec sleep 600", Map.of(), "sleep"),
                                2,
                                10),
                        "inactive-env-processes"));
    }

    private static Child startWithOverwrittenEnviron(TwoUserNode twoUserNode) throws IOException {
        AttackSteps.preventAgreement(twoUserNode, TestUsers.ATTACKER_UID, ATTACKER_ENVIRONMENT);
        return twoUserNode.startAsAttacker(
                "exec setsid perl -e '$0 = \"x\" x 5000; sleep 600'", IN_ATTACKER_ENVIRONMENT, "xxxxxxxxxxxxxxx");
    }
}
