package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.e2e.Scene.BOB;
import static dev.genv.enforcer.e2e.Scene.BOBS;
import static dev.genv.enforcer.e2e.Scene.HERS;
import static dev.genv.enforcer.e2e.Scene.MALLORY;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What mallory tries. */
final class Attacks {
    private static final Map<String, String> IN_BOBS = Map.of("GENV_ENVIRONMENT_ID", BOBS);
    private static final Map<String, String> IN_HERS = Map.of("GENV_ENVIRONMENT_ID", HERS);
    private static final int MANY = 5_000;

    private Attacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.inVain(
                        "names the victim's environment and fills its memory",
                        scene -> scene.herProcess(IN_BOBS, 0, 1500),
                        "env-memory",
                        "env-owner"),
                Attack.inVain(
                        "names the victim's environment on a device that is not attached to it",
                        scene -> scene.herProcess(IN_BOBS, 2, 10),
                        "env-devices",
                        "env-owner"),
                Attack.inVain(
                        "lists the victim's pids in the attacker's environment",
                        withState((scene, files) -> files.env(
                                HERS,
                                People.MALLORY,
                                MALLORY,
                                null,
                                scene.herShell(),
                                scene.bobsShell(),
                                scene.bobsJob())),
                        "env-owner",
                        "non-env-processes"),
                Attack.inVain(
                        "forges an environment in the victim's name with every device",
                        withState((scene, files) -> files.env("forged", People.BOB, BOB, null, scene.bobsShell())
                                .device(0, BOBS, "forged")
                                .device(1, HERS, "forged")
                                .device(2, "forged")),
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.inVain(
                        "records the victim's name, uid and pids in the attacker's environment, and uses a device that is not attached to it",
                        scene -> {
                            scene.sheWrites(scene.honest()
                                    .env(HERS, People.BOB, BOB, null, scene.herShell(), scene.bobsShell()));
                            scene.herProcess(IN_HERS, 2, 10);
                        },
                        "env-devices",
                        "env-owner"),
                Attack.inVain(
                        "adds an environment with the victim's id and a capacity of 1 MB",
                        scene -> {
                            var second = new StateFiles(scene.node.stateDirectory)
                                    .env(BOBS, People.MALLORY, MALLORY, "1m", scene.herShell())
                                    .envsJson();
                            var first = scene.honest().envsJson();
                            scene.sheWrites(
                                    "envs.json",
                                    first.substring(0, first.lastIndexOf("\n  ]")) + ","
                                            + second.substring(second.indexOf('[') + 1));
                            stray(scene);
                        },
                        "entry_unreadable",
                        "env-owner",
                        "non-env-processes",
                        "environment_user_unknown"),
                Attack.delayed(
                        "empties devices.json, as `genv devices --reset` does",
                        withState((scene, files) -> files.device(0).device(1)),
                        "env-devices",
                        "non-env-processes"),
                Attack.inVain(
                        "empties devices.json, which is restored within the state-change grace",
                        scene -> {
                            scene.sheWrites(scene.honest().device(0).device(1));
                            scene.awaitThatBobIsTold();
                            scene.sheWrites(scene.honest());
                            stray(scene);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.inVain(
                        "truncates devices.json to 0 bytes",
                        scene -> {
                            scene.sheWrites("devices.json", "");
                            stray(scene);
                        },
                        "state_unreadable",
                        "non-env-processes"),
                Attack.delayed(
                        "deletes the victim's attachment",
                        withState((scene, files) -> files.device(0)),
                        "env-devices",
                        "non-env-processes"),
                Attack.delayed(
                        "deletes the victim's environment",
                        withState((scene, files) -> files.withoutEnv(BOBS)),
                        "inactive-env-processes",
                        "non-env-processes"),
                Attack.delayed(
                        "removes the pid of the victim's job, which names no environment, from the victim's environment",
                        scene -> {
                            scene.bobUsesTheSdk();
                            scene.sheWrites(scene.honest());
                            scene.awaitThatBobIsTold();
                            stray(scene);
                        },
                        "non-env-processes"),
                Attack.delayed(
                        "lowers the victim's capacity",
                        withState((scene, files) -> files.env(BOBS, People.BOB, BOB, "1m", scene.bobsShell())),
                        "env-memory",
                        "non-env-processes"),
                Attack.inVain(
                        "runs a program with the name `nvidia-cuda-mps-server`",
                        scene -> scene.herProcess(
                                scene.sheStarts(
                                        "cp /usr/bin/sleep nvidia-cuda-mps-server && exec ./nvidia-cuda-mps-server 600",
                                        Map.of(),
                                        "nvidia-cuda-mps"),
                                2,
                                10),
                        "non-env-processes"),
                Attack.inVain(
                        "overwrites the environment variables of the attacker's process",
                        scene -> scene.herProcess(overwritten(scene), 2, 10),
                        "non-env-processes"),
                Attack.blinding(
                        "does the same, and lists its pid in the attacker's environment",
                        scene -> {
                            var process = overwritten(scene);
                            scene.sheWrites(scene.honest()
                                    .env(HERS, People.MALLORY, MALLORY, null, scene.herShell(), process.pid()));
                            scene.herProcess(process, 2, 10);
                        },
                        "membership_unknown"),
                Attack.inVain(
                        "sets an id that cannot be decoded",
                        scene -> scene.herProcess(
                                scene.sheStarts(
                                        "GENV_ENVIRONMENT_ID=$(printf '\\377\\376') exec sleep 600", Map.of(), "sleep"),
                                2,
                                10),
                        "inactive-env-processes"),
                Attack.inVain(
                        "holds genv's lock for ever",
                        scene -> {
                            scene.sheStarts("exec flock -x -F genv.lock sleep 600", Map.of(), "sleep");
                            stray(scene);
                        },
                        "lock_timeout",
                        "non-env-processes"),
                Attack.inVain(
                        "holds the service's own lock for ever",
                        scene -> {
                            scene.sheStarts(
                                    "rm -f .genv-enforcer.lock && exec flock -x -F .genv-enforcer.lock sleep 600",
                                    Map.of(),
                                    "sleep");
                            stray(scene);
                        },
                        "non-env-processes"),
                Attack.blinding(
                        "replaces every file by a symbolic link to a file of root's",
                        scene -> {
                            scene.sheRuns(
                                    "for file in envs.json devices.json genv.lock .genv-enforcer.lock; do rm -f $file; ln -s %s/$file $file; done"
                                            .formatted(scene.rootsFiles));
                            stray(scene);
                        },
                        "lock_unusable",
                        "membership_unknown",
                        "state_unreadable"),
                Attack.inVain(
                        "adds 5,000 entries whose ids contain terminal control characters",
                        scene -> {
                            scene.sheWrites(
                                    "envs.json",
                                    scene.honest().envsJson().replace("\"envs\": [", "\"envs\": [" + nasty()));
                            stray(scene);
                        },
                        "entry_unreadable",
                        "more_problems",
                        "non-env-processes"));
    }

    /** She writes the state, changed like that, and starts a process outside of all environments. */
    private static Attack.Step withState(Change change) {
        return scene -> {
            scene.sheWrites(change.of(scene, scene.honest()));
            stray(scene);
        };
    }

    private static void stray(Scene scene) throws IOException {
        scene.herProcess(Map.of(), 2, 10);
    }

    private static Child overwritten(Scene scene) throws IOException {
        return scene.sheStarts("exec perl -e '$0 = \"x\" x 5000; sleep 600'", IN_HERS, "xxxxxxxxxxxxxxx");
    }

    private static String nasty() {
        return IntStream.range(0, MANY)
                .mapToObj("{\"eid\": \"\\u001b[2J\\u202e\\n%d\", \"pids\": \"\", \"uid\": []},"::formatted)
                .collect(Collectors.joining());
    }

    private interface Change {
        StateFiles of(Scene scene, StateFiles files);
    }
}
