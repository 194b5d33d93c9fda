package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TestUsers.ATTACKER_UID;
import static dev.genv.enforcer.e2e.TestUsers.HONEST_UID;
import static dev.genv.enforcer.e2e.attack.AttackSteps.preventAgreement;
import static dev.genv.enforcer.e2e.attack.AttackSteps.startStray;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.testsupport.linux.SteppedProcess;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The environ of the attacker's or the victim's process is overwritten, and the attacker arranges what its membership is inferred from. */
final class MembershipAttacks {
    private static final int DEVICE_OF_VICTIM = 0;
    private static final int FREE_DEVICE = 2;
    private static final String UNKNOWN = "membership_unknown";
    private static final Map<String, String> OUTSIDE = Map.of("HOME", "/");
    private static final Map<String, String> IN_ATTACKER_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT);
    private static final Map<String, String> IN_VICTIM_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT);
    private static final Map<String, String> OVERWRITTEN_IS_OUTSIDE = Map.of("OVERWRITTEN_ENVIRON", "outside");
    /** So that a process outside of all environments breaks no rule. */
    private static final Map<String, String> OUTSIDE_IS_ALLOWED = Map.of("NON_ENV_PROCESSES", "off");

    private static final String BECOME_ATTACKER = "uid:" + ATTACKER_UID;
    private static final String PARENT_BECOMES_ATTACKER = "fork-uid:" + ATTACKER_UID;
    private static final String BECOME_VICTIM = "uid:" + HONEST_UID;

    private MembershipAttacks() {}

    static List<Attack> all() {
        return Stream.concat(ofAttackersProcess().stream(), ofVictimsProcess().stream())
                .toList();
    }

    private static List<Attack> ofAttackersProcess() {
        return List.of(
                Attack.preventingTermination(
                        "overwrites its environ with zeros",
                        twoUserNode -> start(twoUserNode, IN_ATTACKER_ENVIRONMENT, "setsid", "clear"),
                        UNKNOWN),
                Attack.withoutEffect(
                                "does the same; `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`",
                                twoUserNode -> start(twoUserNode, IN_ATTACKER_ENVIRONMENT, "setsid", "clear"),
                                "non-env-processes")
                        .withSettings(OVERWRITTEN_IS_OUTSIDE),
                Attack.withoutEffect(
                        "overwrites its environ, and its parent is in the attacker's environment",
                        twoUserNode -> start(twoUserNode, IN_ATTACKER_ENVIRONMENT, "setsid", "fork", "clear"),
                        "env-devices"),
                Attack.withoutEffect(
                        "overwrites its environ after a double fork",
                        twoUserNode -> start(twoUserNode, IN_ATTACKER_ENVIRONMENT, "setsid", "fork", "orphan", "clear"),
                        "env-devices"),
                Attack.preventingTermination(
                        "overwrites its environ after a fork in its own session",
                        twoUserNode -> start(twoUserNode, IN_ATTACKER_ENVIRONMENT, "orphan", "setsid", "clear"),
                        UNKNOWN),
                Attack.withoutEffect(
                        "overwrites its environ, and is adopted by a subreaper that names the victim's environment",
                        twoUserNode -> start(
                                twoUserNode,
                                IN_VICTIM_ENVIRONMENT,
                                "setsid",
                                "subreaper",
                                "fork",
                                "exec:GENV_ENVIRONMENT_ID=" + ATTACKER_ENVIRONMENT,
                                "orphan",
                                "clear"),
                        "env-devices",
                        "env-owner"),
                Attack.withoutEffect(
                        "overwrites its environ, and its parent executes a program that names the victim's environment",
                        twoUserNode -> start(
                                twoUserNode,
                                IN_ATTACKER_ENVIRONMENT,
                                "setsid",
                                "fork-exec:GENV_ENVIRONMENT_ID=" + VICTIM_ENVIRONMENT,
                                "clear"),
                        "env-devices",
                        "env-owner"),
                Attack.preventingTermination(
                        "overwrites its environ, and a process of root is between it and one that names the victim's environment",
                        twoUserNode -> use(
                                twoUserNode,
                                twoUserNode.startSteps(
                                        0,
                                        IN_VICTIM_ENVIRONMENT,
                                        "setsid",
                                        PARENT_BECOMES_ATTACKER,
                                        "fork",
                                        "setsid",
                                        BECOME_ATTACKER,
                                        "clear")),
                        UNKNOWN));
    }

    private static List<Attack> ofVictimsProcess() {
        return List.of(
                Attack.withoutEffect(
                        "is the parent and the session leader of the victim's job, whose environ is overwritten",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(
                                    0,
                                    IN_ATTACKER_ENVIRONMENT,
                                    "setsid",
                                    PARENT_BECOMES_ATTACKER,
                                    BECOME_VICTIM,
                                    "clear");
                            startBoth(twoUserNode);
                        },
                        "non-env-processes",
                        UNKNOWN),
                Attack.withoutEffect(
                        "starts the victim's job, whose environ is overwritten, through a process of root",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(
                                    0,
                                    IN_ATTACKER_ENVIRONMENT,
                                    "setsid",
                                    PARENT_BECOMES_ATTACKER,
                                    "fork",
                                    BECOME_VICTIM,
                                    "clear");
                            startBoth(twoUserNode);
                        },
                        "non-env-processes",
                        UNKNOWN),
                Attack.withoutEffect(
                        "starts a job of root with sudo, whose environ is overwritten, from the attacker's environment",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobAs(0, IN_ATTACKER_ENVIRONMENT, "setsid", "fork", "clear");
                            startBoth(twoUserNode);
                        },
                        "non-env-processes",
                        UNKNOWN),
                Attack.withoutEffect(
                                "forges an environment in the victim's name with the shell of the victim's job, whose environ is overwritten",
                                twoUserNode -> {
                                    var shell = restartVictimJobOutside(twoUserNode);
                                    twoUserNode.useGpuAsVictim(FREE_DEVICE);
                                    twoUserNode.awaitTwoObservations();
                                    twoUserNode.writeAsAttacker(
                                            withForgedEnvironment(twoUserNode, shell.leftBehind(0)));
                                    startInWrongEnvironment(twoUserNode);
                                },
                                "env-devices",
                                UNKNOWN)
                        .withSettings(OUTSIDE_IS_ALLOWED),
                Attack.withoutEffect(
                                "does the same before the victim starts the job",
                                twoUserNode -> {
                                    var shell = twoUserNode.restartVictimJobAs(
                                            HONEST_UID, OUTSIDE, "setsid", "pause", "fork", "clear");
                                    twoUserNode.writeAsAttacker(withForgedEnvironment(twoUserNode, shell.pid()));
                                    twoUserNode.awaitTwoObservations();
                                    shell.resume();
                                    twoUserNode.useGpuAsVictim(FREE_DEVICE);
                                    startInWrongEnvironment(twoUserNode);
                                },
                                "env-devices",
                                UNKNOWN)
                        .withSettings(OUTSIDE_IS_ALLOWED),
                Attack.withoutEffect(
                        "removes the shell of the victim's job, whose environ is overwritten, from the victim's environment",
                        twoUserNode -> {
                            var job = twoUserNode.restartVictimJobAs(
                                    HONEST_UID,
                                    OUTSIDE,
                                    "setsid",
                                    "fork",
                                    "exec:GENV_ENVIRONMENT_ID=" + VICTIM_ENVIRONMENT,
                                    "fork-beside",
                                    "clear");
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            VICTIM_ENVIRONMENT,
                                            HONEST_UID,
                                            VICTIM_NAME,
                                            "1000mi",
                                            twoUserNode.victimShell(),
                                            job.leftBehind(0)));
                            twoUserNode.awaitTwoObservations();
                            twoUserNode.useGpuAsVictim(DEVICE_OF_VICTIM);
                            twoUserNode.awaitTwoObservations();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.withoutEffect(
                                "does the same before the victim starts the job; `GENV_ENFORCER_OVERWRITTEN_ENVIRON=outside`",
                                twoUserNode -> {
                                    var shell = twoUserNode.restartVictimJobAs(
                                            HONEST_UID, OUTSIDE, "setsid", "pause", "fork", "clear");
                                    twoUserNode.writeAsAttacker(twoUserNode
                                            .validState()
                                            .env(
                                                    VICTIM_ENVIRONMENT,
                                                    HONEST_UID,
                                                    VICTIM_NAME,
                                                    "1000mi",
                                                    twoUserNode.victimShell(),
                                                    shell.pid()));
                                    twoUserNode.awaitTwoObservations();
                                    twoUserNode.writeAsAttacker(twoUserNode.validState());
                                    twoUserNode.awaitTwoObservations();
                                    shell.resume();
                                    startBoth(twoUserNode);
                                },
                                "non-env-processes",
                                UNKNOWN)
                        .withSettings(OVERWRITTEN_IS_OUTSIDE));
    }

    private static void start(TwoUserNode twoUserNode, Map<String, String> variables, String... steps)
            throws IOException {
        use(twoUserNode, twoUserNode.startSteps(ATTACKER_UID, variables, steps));
    }

    private static void use(TwoUserNode twoUserNode, SteppedProcess process) throws IOException {
        preventAgreement(twoUserNode, ATTACKER_UID, ATTACKER_ENVIRONMENT);
        twoUserNode.useGpuAsAttacker(process, FREE_DEVICE, 10);
    }

    private static void startBoth(TwoUserNode twoUserNode) throws IOException {
        preventAgreement(twoUserNode, HONEST_UID, VICTIM_ENVIRONMENT);
        twoUserNode.useGpuAsVictim(DEVICE_OF_VICTIM);
        startStray(twoUserNode);
    }

    private static SteppedProcess restartVictimJobOutside(TwoUserNode twoUserNode) throws IOException {
        return twoUserNode.restartVictimJobAs(HONEST_UID, OUTSIDE, "setsid", "fork", "clear");
    }

    private static StateFiles withForgedEnvironment(TwoUserNode twoUserNode, int shell) {
        return twoUserNode.validState().env(Integer.toString(shell), HONEST_UID, VICTIM_NAME, null, shell);
    }

    /** The attacker's process breaks another rule, to show that the service acts. */
    private static void startInWrongEnvironment(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, FREE_DEVICE, 10);
    }
}
