package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.Scene.BOB;
import static dev.genv.enforcer.e2e.Scene.BOBS;
import static dev.genv.enforcer.e2e.Scene.MALLORY;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Attacks on what the service remembers, and does not. */
final class HistoryAttacks {
    private static final int CONTAINERS_UID = 54_003;
    private static final int MEGABYTE = 1 << 20;
    private static final int LARGE_WRITES = 30;
    private static final int KERNELS = 5;

    private HistoryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.delayedByTheStart(
                        "deletes the victim's attachment, and the service is restarted",
                        scene -> {
                            scene.sheWrites(scene.honest().device(0));
                            scene.awaitThatBobIsTold();
                            scene.restartService();
                            stray(scene);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByTheStart(
                        "removes the pid of the victim's SDK job, and the service is restarted",
                        scene -> {
                            scene.bobUsesTheSdk();
                            scene.sheWrites(scene.honest());
                            scene.awaitThatBobIsTold();
                            scene.restartService();
                            stray(scene);
                        },
                        "non-env-processes"),
                Attack.inVain(
                        "forges an old environment in the victim's name while the victim's job runs in a container",
                        scene -> {
                            scene.bobsJobHasUid(CONTAINERS_UID);
                            scene.sheWrites(forged(scene.honest(), scene));
                            stray(scene);
                        },
                        "env-owner",
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.inVain(
                        "forges an old environment in the victim's name while the victim's job uses the SDK",
                        scene -> {
                            scene.bobUsesTheSdk();
                            scene.sheWrites(forged(
                                    scene.honest()
                                            .env(BOBS, People.BOB, BOB, "1000mi", scene.bobsShell(), scene.bobsJob()),
                                    scene));
                            stray(scene);
                        },
                        "max-devices-per-user",
                        "membership_unknown",
                        "non-env-processes"),
                Attack.inVain(
                        "writes 5 MB of Jupyter kernels into the attacker's environments, thirty times",
                        scene -> {
                            for (var write = 0; write < LARGE_WRITES; write++) {
                                scene.sheWrites(withKernels(scene, write));
                                scene.awaitNextObservation();
                            }
                            scene.sheWrites(scene.honest());
                            stray(scene);
                        },
                        "non-env-processes"));
    }

    private static StateFiles forged(StateFiles files, Scene scene) {
        return files.env("forged", People.BOB, BOB, null, scene.bobsShell())
                .device(2, new Attachment("forged", null, "01/01/2020 00:00:00"));
    }

    private static StateFiles withKernels(Scene scene, int write) {
        var files = scene.honest();
        IntStream.range(0, KERNELS)
                .forEach(i -> files.env(
                        "kernels-%d-%d".formatted(write, i),
                        People.MALLORY,
                        MALLORY,
                        null,
                        List.of(scene.herShell()),
                        List.of("k".repeat(MEGABYTE))));
        return files;
    }

    private static void stray(Scene scene) throws IOException {
        scene.herProcess(Map.of(), 2, 10);
    }
}
