package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.Scene.BOBS;

import java.util.List;
import java.util.Map;

/** Ways in which mallory tries to break a rule and to avoid every signal. */
final class EscapeAttacks {
    private static final Map<String, String> IN_BOBS = Map.of("GENV_ENVIRONMENT_ID", BOBS);
    private static final int FIRST_SUBORDINATE_UID = 200_000;

    /** The privilege that lets it change its real uid is root's here; newuidmap gives it to everybody with subordinate uids. */
    private static final String CHANGES_ITS_UID =
            "$uid = %d; while (1) { $< = $uid++; select(undef, undef, undef, 0.001) }".formatted(FIRST_SUBORDINATE_UID);

    private EscapeAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.inVain(
                        "changes her real uid a thousand times a second",
                        scene -> scene.herProcess(
                                scene.rootStarts(List.of("perl", "-e", CHANGES_ITS_UID), Map.of(), "perl"), 2, 10),
                        "non-env-processes"),
                Attack.inVain(
                        "names bob's environment with 12 uids, each of which fits into its memory",
                        scene -> {
                            for (var uid = FIRST_SUBORDINATE_UID; uid < FIRST_SUBORDINATE_UID + 12; uid++) {
                                scene.herProcess(scene.starts(uid, IN_BOBS), 0, 100);
                            }
                        },
                        "env-memory",
                        "env-owner"));
    }
}
