package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.Scene.BOB;
import static dev.genv.enforcer.e2e.Scene.BOBS;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Attacks on what the service never observed: what bob wrote for his next job is changed before an observation of it. */
final class UnobservedAttacks {
    /** Nobody's device until then. */
    private static final int DEVICE = 2;

    private static final String NEW = "new";
    private static final int CONTAINERS_UID = 54_003;

    private UnobservedAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayed(
                        "deletes the victim's new attachment before the service observes it",
                        scene -> {
                            scene.bobEndsHisJob();
                            scene.sheWrites(withoutOld(scene).device(DEVICE, BOBS));
                            scene.bobStarts(named(BOBS));
                            scene.sheWrites(withoutOld(scene));
                            bothReachTheGpus(scene);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayed(
                        "deletes the victim's new environment before the service observes it",
                        scene -> {
                            scene.bobEndsHisJob();
                            scene.sheWrites(withNew(scene, null));
                            scene.bobStarts(named(NEW));
                            scene.sheWrites(withoutOld(scene));
                            bothReachTheGpus(scene);
                        },
                        "inactive-env-processes",
                        "non-env-processes"),
                Attack.delayed(
                        "lowers the capacity of the victim's new environment before the service observes it",
                        scene -> {
                            scene.bobEndsHisJob();
                            scene.sheWrites(withNew(scene, null));
                            scene.bobStarts(named(NEW));
                            scene.sheWrites(withNew(scene, "1m"));
                            bothReachTheGpus(scene);
                        },
                        "env-memory",
                        "non-env-processes"),
                Attack.delayed(
                        "removes the pid of the victim's new SDK job before the service observes it",
                        scene -> {
                            scene.bobEndsHisJob();
                            scene.bobStarts(Map.of());
                            scene.sheWrites(withoutOld(scene)
                                    .env(BOBS, People.BOB, BOB, "1000mi", scene.bobsShell(), scene.bobsJob()));
                            scene.sheWrites(withoutOld(scene));
                            bothReachTheGpus(scene);
                        },
                        "non-env-processes"),
                Attack.blinding(
                        "forges an old environment in the victim's name while the service is stopped, and uses its device",
                        scene -> {
                            scene.bobsJobHasUid(CONTAINERS_UID);
                            scene.restartServiceAfter(_ -> {
                                scene.sheWrites(scene.honest()
                                        .env("forged", People.BOB, BOB, null, scene.bobsShell())
                                        .device(DEVICE, new Attachment("forged", null, "01/01/2020 00:00:00")));
                                scene.herProcess(named("forged"), DEVICE, 10);
                            });
                        },
                        "env-owner",
                        "max-devices-per-user",
                        "quota_undecided"));
    }

    private static StateFiles withoutOld(Scene scene) {
        return scene.honest().device(0);
    }

    private static StateFiles withNew(Scene scene, @Nullable String capacity) {
        return withoutOld(scene)
                .env(NEW, People.BOB, BOB, capacity, scene.bobsShell())
                .device(DEVICE, NEW);
    }

    private static Map<String, String> named(String eid) {
        return Map.of("GENV_ENVIRONMENT_ID", eid);
    }

    private static void bothReachTheGpus(Scene scene) throws IOException {
        scene.bobsJobReaches(DEVICE);
        scene.herProcess(Map.of(), 1, 10);
    }
}
