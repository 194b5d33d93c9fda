package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The attacker has processes in the cgroup of the victim's job. Root puts them there, as no user can. */
@Tag("long")
class SharedCgroupIT {
    private static final int DEVICE_OF_VICTIM = 0;
    private static final int FREE_DEVICE = 2;
    private static final String BECOME_ATTACKER = "uid:" + ATTACKER_UID;
    private static final String BECOME_VICTIM = "uid:" + HONEST_UID;

    @TempDir
    private Path directory;

    @Test
    void victimsOverwrittenEnvironIsNotReplacedByTheAttackers() throws Exception {
        run((twoUserNode, join) -> Attack.withoutEffect(
                "a cgroup",
                _ -> {
                    twoUserNode.restartVictimJobAs(
                            0, inEnvironment(VICTIM_ENVIRONMENT), join, "orphan", "setsid", BECOME_VICTIM, "clear");
                    twoUserNode.startSteps(0, inEnvironment(ATTACKER_ENVIRONMENT), join, "setsid", BECOME_ATTACKER);
                    twoUserNode.useGpuAsVictim(DEVICE_OF_VICTIM);
                    startAttackersProcess(twoUserNode, join);
                },
                "env-devices",
                "membership_unknown"));
    }

    @Test
    void attackersOverwrittenEnvironIsNotReplacedByTheVictims() throws Exception {
        run((twoUserNode, join) -> Attack.preventingTermination(
                "a cgroup",
                _ -> {
                    twoUserNode.restartVictimJobAs(0, inEnvironment(VICTIM_ENVIRONMENT), join, "setsid", BECOME_VICTIM);
                    twoUserNode.useGpuAsVictim(DEVICE_OF_VICTIM);
                    startAttackersProcess(twoUserNode, join);
                },
                "membership_unknown"));
    }

    private static void startAttackersProcess(TwoUserNode twoUserNode, String join) throws Exception {
        var process = twoUserNode.startSteps(
                0, inEnvironment(VICTIM_ENVIRONMENT), join, "orphan", "setsid", BECOME_ATTACKER, "clear");
        twoUserNode.useGpuAsAttacker(process, FREE_DEVICE, 10);
    }

    private interface AttackMaker {
        /**
         * Returns the attack.
         *
         * @param join the step with which a process joins the cgroup
         */
        Attack make(TwoUserNode twoUserNode, String join);
    }

    private void run(AttackMaker maker) throws Exception {
        Requirements.rootWithCapabilities();
        try (var cgroup = TestCgroup.create();
                var node = new Node(directory);
                var twoUserNode = new TwoUserNode(node)) {
            var attack = maker.make(twoUserNode, "cgroup:" + cgroup.directory());
            new AttackRunner(twoUserNode, attack).run();
        }
    }

    private static Map<String, String> inEnvironment(String eid) {
        return Map.of("GENV_ENVIRONMENT_ID", eid);
    }
}
