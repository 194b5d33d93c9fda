package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;

/** Ways in which the attacker tries to break a rule and to avoid every signal. */
final class EscapeAttacks {
    private static final Map<String, String> IN_VICTIM_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT);
    private static final Map<String, String> ENFORCED = Map.of("ENV_OWNER", "enforce");
    private static final int FIRST_SUBORDINATE_UID = 200_000;

    /** The privilege that lets it change its real uid belongs to root here; newuidmap gives it to every user with subordinate uids. */
    private static final String CHANGING_UID_SCRIPT =
            "$uid = %d; while (1) { $< = $uid++; select(undef, undef, undef, 0.001) }".formatted(FIRST_SUBORDINATE_UID);

    /** The driver lists no process in every second query. */
    private static final String ALTERNATING_LISTING_SCRIPT =
            "case $1 in *compute-apps*) if [ -e $0.second ]; then rm $0.second; exit 0; fi; : >$0.second ;; esac";

    private EscapeAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "changes the real uid of its process a thousand times a second",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsRoot(List.of("perl", "-e", CHANGING_UID_SCRIPT), Map.of(), "perl"),
                                2,
                                10),
                        "non-env-processes"),
                Attack.withoutEffect(
                                "names the victim's environment with 12 subordinate uids, each within its capacity",
                                twoUserNode -> {
                                    for (var uid = FIRST_SUBORDINATE_UID; uid < FIRST_SUBORDINATE_UID + 12; uid++) {
                                        twoUserNode.useGpuAsAttacker(
                                                twoUserNode.startAs(uid, IN_VICTIM_ENVIRONMENT), 0, 100);
                                    }
                                },
                                "env-memory",
                                "env-owner")
                        .withPreparation(EscapeAttacks::giveSubordinateUids),
                Attack.withoutEffect(
                                "ignores SIGTERM and uses the GPU only in every second observation",
                                twoUserNode -> {
                                    twoUserNode.useGpuAsAttacker(
                                            twoUserNode.startAsAttacker(
                                                    "trap '' TERM; exec sleep 600", Map.of(), "sleep"),
                                            2,
                                            10);
                                    twoUserNode.node.gpus.fault(ALTERNATING_LISTING_SCRIPT);
                                },
                                "non-env-processes")
                        .withSettings(Map.of("KILL_AFTER", "3s")),
                Attack.withoutEffect(
                                "uses the victim's device in the victim's environment, which has no capacity; `GENV_ENFORCER_ENV_OWNER=enforce`",
                                twoUserNode -> {
                                    twoUserNode.writeAsAttacker(withoutCapacity(twoUserNode));
                                    twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 10);
                                },
                                "env-owner")
                        .withSettings(ENFORCED),
                Attack.preventingTermination(
                                "does the same, and lists its pid in the victim's environment",
                                twoUserNode -> {
                                    twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 10);
                                    twoUserNode.writeAsAttacker(twoUserNode
                                            .validState()
                                            .env(
                                                    VICTIM_ENVIRONMENT,
                                                    TestUsers.HONEST_UID,
                                                    VICTIM_NAME,
                                                    null,
                                                    twoUserNode.victimShell(),
                                                    twoUserNode.attackerShell()));
                                },
                                "env-owner")
                        .withSettings(ENFORCED));
    }

    private static StateFiles withoutCapacity(TwoUserNode twoUserNode) {
        return twoUserNode
                .validState()
                .env(VICTIM_ENVIRONMENT, TestUsers.HONEST_UID, VICTIM_NAME, null, twoUserNode.victimShell());
    }

    /** The service sees a copy of /etc in which the attacker has subordinate uids, and not that of the first process. */
    private static void giveSubordinateUids(Node node) throws IOException {
        var etc = node.directory.resolve("etc");
        Command.run("cp", "-a", "/etc", etc.toString());
        Files.writeString(
                etc.resolve("subuid"), "%d:%d:65536\n".formatted(TestUsers.ATTACKER_UID, FIRST_SUBORDINATE_UID));
        node.launchWith(
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount --bind %s /etc && mount -t tmpfs none /proc/1 && exec \"$@\"".formatted(etc),
                "sh");
    }
}
