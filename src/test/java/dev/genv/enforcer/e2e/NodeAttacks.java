package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** What mallory tries against the way in which a node is observed. */
final class NodeAttacks {
    private static final int PROCESSES = 1500;

    private NodeAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.inVain(
                        "starts 1,500 processes that share one megabyte of arguments, and adds an environment with a Jupyter kernel",
                        scene -> {
                            processesWithLongArguments(scene);
                            scene.sheWrites(scene.honest()
                                    .env("kernel", People.MALLORY, Scene.MALLORY, null, List.of(), List.of("one")));
                            stray(scene);
                        },
                        "non-env-processes"),
                Attack.inVain(
                        "attaches the attacker's environment to a device that does not exist",
                        scene -> {
                            scene.sheWrites(scene.honest().device(1).device(99, Scene.HERS));
                            stray(scene);
                        },
                        "device_unlisted",
                        "non-env-processes"));
    }

    private static void stray(Scene scene) throws IOException {
        scene.herProcess(Map.of(), 2, 10);
    }

    /**
     * 115,000 arguments are nearly as many as Linux takes, and one megabyte. The children share them with their parent,
     * and wait for the end of a pipe that it holds, so they end with it.
     */
    private static void processesWithLongArguments(Scene scene) throws IOException {
        var fork = "for (1..%d) { if (!fork) { close(W); sysread(R, $x, 1); exit } }".formatted(PROCESSES);
        scene.sheStarts(
                "exec perl -e 'pipe(R, W); %s open(F, \">forked\"); close(F); sleep 600' $(seq 1000001 1115000)"
                        .formatted(fork),
                Map.of(),
                "perl");
        scene.awaitFile("forked");
    }
}
