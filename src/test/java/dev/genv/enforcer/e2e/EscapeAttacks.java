package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.Scene.BOB;
import static dev.genv.enforcer.e2e.Scene.BOBS;

import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;

/** Ways in which mallory tries to break a rule and to avoid every signal. */
final class EscapeAttacks {
    private static final Map<String, String> IN_BOBS = Map.of("GENV_ENVIRONMENT_ID", BOBS);
    private static final Map<String, String> ENFORCED = Map.of("ENV_OWNER", "enforce");
    private static final int FIRST_SUBORDINATE_UID = 200_000;

    /** The privilege that lets it change its real uid is root's here; newuidmap gives it to everybody with subordinate uids. */
    private static final String CHANGES_ITS_UID =
            "$uid = %d; while (1) { $< = $uid++; select(undef, undef, undef, 0.001) }".formatted(FIRST_SUBORDINATE_UID);

    /** The driver lists no process at every second time that it is asked for them. */
    private static final String LISTS_NONE_AT_EVERY_SECOND_CALL =
            "case $1 in *compute-apps*) if [ -e $0.second ]; then rm $0.second; exit 0; fi; : >$0.second ;; esac";

    private EscapeAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.inVain(
                        "changes the real uid of its process a thousand times a second",
                        scene -> scene.herProcess(
                                scene.rootStarts(List.of("perl", "-e", CHANGES_ITS_UID), Map.of(), "perl"), 2, 10),
                        "non-env-processes"),
                Attack.inVain(
                                "names the victim's environment with 12 subordinate uids, each within its capacity",
                                scene -> {
                                    for (var uid = FIRST_SUBORDINATE_UID; uid < FIRST_SUBORDINATE_UID + 12; uid++) {
                                        scene.herProcess(scene.starts(uid, IN_BOBS), 0, 100);
                                    }
                                },
                                "env-memory",
                                "env-owner")
                        .prepared(EscapeAttacks::giveSubordinateUids),
                Attack.inVain(
                                "ignores SIGTERM and uses the GPU only in every second observation",
                                scene -> {
                                    scene.herProcess(
                                            scene.sheStarts("trap '' TERM; exec sleep 600", Map.of(), "sleep"), 2, 10);
                                    scene.node.gpus.fault(LISTS_NONE_AT_EVERY_SECOND_CALL);
                                },
                                "non-env-processes")
                        .against(Map.of("KILL_AFTER", "3s")),
                Attack.inVain(
                                "uses the victim's device in the victim's environment, which has no capacity; `GENV_ENFORCER_ENV_OWNER=enforce`",
                                scene -> {
                                    scene.sheWrites(withoutCapacity(scene));
                                    scene.herProcess(IN_BOBS, 0, 10);
                                },
                                "env-owner")
                        .against(ENFORCED),
                Attack.blinding(
                                "does the same, and lists its pid in the victim's environment",
                                scene -> {
                                    scene.herProcess(IN_BOBS, 0, 10);
                                    scene.sheWrites(scene.honest()
                                            .env(BOBS, People.BOB, BOB, null, scene.bobsShell(), scene.herShell()));
                                },
                                "env-owner")
                        .against(ENFORCED));
    }

    private static StateFiles withoutCapacity(Scene scene) {
        return scene.honest().env(BOBS, People.BOB, BOB, null, scene.bobsShell());
    }

    /** The service sees a copy of /etc in which mallory has subordinate uids, and not that of the first process. */
    private static void giveSubordinateUids(Node node) throws IOException {
        var etc = node.directory.resolve("etc");
        Command.run("cp", "-a", "/etc", etc.toString());
        Files.writeString(etc.resolve("subuid"), "%d:%d:65536\n".formatted(People.MALLORY, FIRST_SUBORDINATE_UID));
        node.startedBy(
                "unshare",
                "--mount",
                "sh",
                "-c",
                "mount --bind %s /etc && mount -t tmpfs none /proc/1 && exec \"$@\"".formatted(etc),
                "sh");
    }
}
