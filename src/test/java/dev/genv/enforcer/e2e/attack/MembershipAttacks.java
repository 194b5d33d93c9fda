package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.OUTSIDE;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;

import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** The environ of the attacker's or the victim's process is overwritten, and the attacker arranges what its membership is inferred from. */
final class MembershipAttacks {
    private static final int FREE_DEVICE = 2;
    private static final String UNKNOWN = "membership_unknown";
    private static final String ENTER_ATTACKER_ENVIRONMENT = "exec:GENV_ENVIRONMENT_ID=" + ATTACKER_ENVIRONMENT;

    private static final String BECOME_ATTACKER = "uid:" + ATTACKER_UID;
    private static final String PARENT_BECOMES_ATTACKER = "fork-uid:" + ATTACKER_UID;
    private static final String BECOME_VICTIM = "uid:" + HONEST_UID;

    private MembershipAttacks() {}

    static List<Attack> ofAttackersProcess() {
        return List.of(
                Attack.named("overwrites its environ with zeros")
                        .preventingTermination()
                        .reporting(UNKNOWN)
                        .by(node -> start(node, IN_ATTACKER_ENVIRONMENT, "setsid", "clear")),
                Attack.named("does the same; `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`")
                        .with("OVERWRITTEN_ENVIRON", "outside")
                        .reporting("non-env-processes")
                        .by(node -> start(node, IN_ATTACKER_ENVIRONMENT, "setsid", "clear")),
                Attack.named("overwrites its environ, and its parent is in the attacker's environment")
                        .reporting("env-devices")
                        .by(node -> start(node, IN_ATTACKER_ENVIRONMENT, "setsid", "fork", "clear")),
                Attack.named("overwrites its environ after a double fork")
                        .preventingTermination()
                        .reporting(UNKNOWN)
                        .by(node -> start(node, IN_ATTACKER_ENVIRONMENT, "setsid", "fork", "orphan", "clear")),
                Attack.named("overwrites its environ after a fork in its own session")
                        .preventingTermination()
                        .reporting(UNKNOWN)
                        .by(node -> start(node, IN_ATTACKER_ENVIRONMENT, "orphan", "setsid", "clear")),
                Attack.named(
                                "overwrites its environ, and is adopted by a subreaper that names the victim's environment")
                        .reporting("env-devices", "env-owner")
                        .by(node -> start(
                                node,
                                IN_VICTIM_ENVIRONMENT,
                                "setsid",
                                "subreaper",
                                "fork",
                                ENTER_ATTACKER_ENVIRONMENT,
                                "orphan",
                                "clear")),
                Attack.named(
                                "overwrites its environ, and its parent executes a program that names the victim's environment")
                        .reporting("env-devices", "env-owner")
                        .by(node -> {
                            var parent = "fork-exec:GENV_ENVIRONMENT_ID=" + VICTIM_ENVIRONMENT;
                            start(node, IN_ATTACKER_ENVIRONMENT, "setsid", parent, "clear");
                        }),
                Attack.named(
                                "overwrites its environ, and a process of root is between it and one that names the victim's environment")
                        .preventingTermination()
                        .reporting(UNKNOWN)
                        .by(node -> startAs(
                                0,
                                node,
                                IN_VICTIM_ENVIRONMENT,
                                "setsid",
                                PARENT_BECOMES_ATTACKER,
                                "fork",
                                "setsid",
                                BECOME_ATTACKER,
                                "clear")));
    }

    static List<Attack> ofVictimsProcess() {
        return List.of(
                Attack.named("is the parent and the session leader of the victim's job, whose environ is overwritten")
                        .reporting("non-env-processes", UNKNOWN)
                        .by(node -> startBoth(node, "setsid", PARENT_BECOMES_ATTACKER, BECOME_VICTIM, "clear")),
                Attack.named("starts the victim's job, whose environ is overwritten, through a process of root")
                        .reporting("non-env-processes", UNKNOWN)
                        .by(node -> startBoth(node, "setsid", PARENT_BECOMES_ATTACKER, "fork", BECOME_VICTIM, "clear")),
                Attack.named(
                                "starts a job of root with sudo, whose environ is overwritten, from the attacker's environment")
                        .reporting("non-env-processes", UNKNOWN)
                        .by(node -> startBoth(node, "setsid", "fork", "clear")),
                // A process outside of all environments breaks no rule there.
                Attack.named(
                                "forges an environment in the victim's name with the shell of the victim's job, whose environ is overwritten")
                        .with("NON_ENV_PROCESSES", "off")
                        .reporting("env-devices", UNKNOWN)
                        .by(node -> {
                            var shell = node.restartVictimJobAs(HONEST_UID, OUTSIDE, "setsid", "fork", "clear");
                            node.useGpuAsVictim(FREE_DEVICE);
                            node.awaitTwoObservations();
                            forgeEnvironment(node, shell.leftBehind(0));
                            node.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, FREE_DEVICE, 10);
                        }),
                Attack.named("does the same before the victim starts the job")
                        .with("NON_ENV_PROCESSES", "off")
                        .reporting("env-devices", UNKNOWN)
                        .by(node -> {
                            var shell =
                                    node.restartVictimJobAs(HONEST_UID, OUTSIDE, "setsid", "pause", "fork", "clear");
                            forgeEnvironment(node, shell.pid());
                            node.awaitTwoObservations();
                            shell.resume();
                            node.useGpuAsVictim(FREE_DEVICE);
                            node.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, FREE_DEVICE, 10);
                        }),
                Attack.named(
                                "removes the shell of the victim's job, whose environ is overwritten, from the victim's environment")
                        .reporting("non-env-processes", UNKNOWN)
                        .by(node -> {
                            var activate = "exec:GENV_ENVIRONMENT_ID=" + VICTIM_ENVIRONMENT;
                            var job = node.restartVictimJobAs(
                                    HONEST_UID, OUTSIDE, "setsid", "fork", activate, "fork-beside", "clear");
                            node.writeAsAttacker(node.withVictimPids(node.victimShell, job.leftBehind(0)));
                            node.awaitTwoObservations();
                            node.useGpuAsVictim(0);
                            node.awaitTwoObservations();
                            node.writeAndStartStray(node.validState());
                        }),
                Attack.named(
                                "does the same before the victim starts the job; `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`")
                        .with("OVERWRITTEN_ENVIRON", "outside")
                        .delayedByGrace()
                        .reporting("non-env-processes")
                        .by(MembershipAttacks::removeShellBeforeTheJob));
    }

    /** The attacker removes the shell of bob's next job from his environment, and bob starts the job in this shell. */
    private static void removeShellBeforeTheJob(TwoUserNode node) throws Exception {
        var shell = node.restartVictimJobAs(HONEST_UID, OUTSIDE, "setsid", "pause", "fork", "clear");
        node.writeAsAttacker(node.withVictimPids(node.victimShell, shell.pid()));
        node.awaitTwoObservations();
        node.writeAsAttacker(node.validState());
        node.awaitTwoObservations();
        shell.resume();
        useAsVictimAndStartStray(node);
    }

    private static void start(TwoUserNode node, Map<String, String> variables, String... steps) throws IOException {
        startAs(ATTACKER_UID, node, variables, steps);
    }

    private static void startAs(int uid, TwoUserNode node, Map<String, String> variables, String... steps)
            throws IOException {
        SteppedProcess process = node.startSteps(uid, variables, steps);
        node.useGpuAsAttacker(process, FREE_DEVICE, 10);
    }

    /** Root starts bob's job by these steps from the attacker's environment. */
    private static void startBoth(TwoUserNode node, String... steps) throws IOException {
        node.restartVictimJobAs(0, IN_ATTACKER_ENVIRONMENT, steps);
        useAsVictimAndStartStray(node);
    }

    private static void useAsVictimAndStartStray(TwoUserNode node) throws IOException {
        node.useGpuAsVictim(0);
        node.startStray();
    }

    private static void forgeEnvironment(TwoUserNode node, int shell) throws IOException {
        node.writeAsAttacker(node.withVictimsEnvironment(Integer.toString(shell), shell));
    }
}
