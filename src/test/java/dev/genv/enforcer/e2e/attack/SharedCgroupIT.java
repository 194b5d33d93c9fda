package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import java.nio.file.Path;
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
        run((node, join) -> Attack.named("a cgroup")
                .reporting("env-devices", "membership_unknown")
                .by(_ -> {
                    node.restartVictimJobAs(0, IN_VICTIM_ENVIRONMENT, join, "orphan", "setsid", BECOME_VICTIM, "clear");
                    node.startSteps(0, IN_ATTACKER_ENVIRONMENT, join, "setsid", BECOME_ATTACKER);
                    node.useGpuAsVictim(DEVICE_OF_VICTIM);
                    startAttackersProcess(node, join);
                }));
    }

    @Test
    void attackersOverwrittenEnvironIsNotReplacedByTheVictims() throws Exception {
        run((node, join) -> Attack.named("a cgroup")
                .preventingTermination()
                .reporting("membership_unknown")
                .by(_ -> {
                    node.restartVictimJobAs(0, IN_VICTIM_ENVIRONMENT, join, "setsid", BECOME_VICTIM);
                    node.useGpuAsVictim(DEVICE_OF_VICTIM);
                    startAttackersProcess(node, join);
                }));
    }

    private static void startAttackersProcess(TwoUserNode node, String join) throws Exception {
        var process = node.startSteps(0, IN_VICTIM_ENVIRONMENT, join, "orphan", "setsid", BECOME_ATTACKER, "clear");
        node.useGpuAsAttacker(process, FREE_DEVICE, 10);
    }

    private interface AttackMaker {
        /**
         * Returns the attack.
         *
         * @param join the step with which a process joins the cgroup
         */
        Attack make(TwoUserNode node, String join);
    }

    private void run(AttackMaker maker) throws Exception {
        Requirements.rootWithCapabilities();
        try (var cgroup = TestCgroup.create();
                var bare = new Node(directory);
                var node = new TwoUserNode(bare)) {
            var attack = maker.make(node, "cgroup:" + cgroup.directory());
            new AttackRunner(node, attack).run();
        }
    }
}
