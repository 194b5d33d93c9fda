package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.TwoUserNode.ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.TwoUserNode.ATTACKER_NAME;
import static dev.genv.enforcer.e2e.TwoUserNode.VICTIM_ENVIRONMENT;
import static dev.genv.enforcer.e2e.TwoUserNode.VICTIM_NAME;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.e2e.TwoUserNode;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What the attacker tries. */
final class Attacks {
    private static final Map<String, String> IN_VICTIM_ENVIRONMENT = Map.of("GENV_ENVIRONMENT_ID", VICTIM_ENVIRONMENT);
    private static final Map<String, String> IN_ATTACKER_ENVIRONMENT =
            Map.of("GENV_ENVIRONMENT_ID", ATTACKER_ENVIRONMENT);
    private static final int MANY = 5_000;

    private Attacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "names the victim's environment and fills its memory",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 0, 1500),
                        "env-memory",
                        "env-owner"),
                Attack.withoutEffect(
                        "names the victim's environment on a device that is not attached to it",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(IN_VICTIM_ENVIRONMENT, 2, 10),
                        "env-devices",
                        "env-owner"),
                Attack.withoutEffect(
                        "lists the victim's pids in the attacker's environment",
                        writeStateAndStartStray((twoUserNode, files) -> files.env(
                                ATTACKER_ENVIRONMENT,
                                TestUsers.ATTACKER_UID,
                                ATTACKER_NAME,
                                null,
                                twoUserNode.attackerShell(),
                                twoUserNode.victimShell(),
                                twoUserNode.victimJob())),
                        "env-owner",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "forges an environment in the victim's name with every device",
                        writeStateAndStartStray((twoUserNode, files) -> files.env(
                                        "forged", TestUsers.HONEST_UID, VICTIM_NAME, null, twoUserNode.victimShell())
                                .device(0, VICTIM_ENVIRONMENT, "forged")
                                .device(1, ATTACKER_ENVIRONMENT, "forged")
                                .device(2, "forged")),
                        "max-devices-per-user",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "records the victim's name, uid and pids in the attacker's environment, and uses a device that is not attached to it",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            ATTACKER_ENVIRONMENT,
                                            TestUsers.HONEST_UID,
                                            VICTIM_NAME,
                                            null,
                                            twoUserNode.attackerShell(),
                                            twoUserNode.victimShell()));
                            twoUserNode.useGpuAsAttacker(IN_ATTACKER_ENVIRONMENT, 2, 10);
                        },
                        "env-devices",
                        "env-owner"),
                Attack.withoutEffect(
                        "adds an environment with the victim's id and a capacity of 1 MB",
                        twoUserNode -> {
                            var second = new StateFiles(twoUserNode.node.stateDirectory)
                                    .env(
                                            VICTIM_ENVIRONMENT,
                                            TestUsers.ATTACKER_UID,
                                            ATTACKER_NAME,
                                            "1m",
                                            twoUserNode.attackerShell())
                                    .envsJson();
                            var first = twoUserNode.validState().envsJson();
                            twoUserNode.writeAsAttacker(
                                    "envs.json",
                                    first.substring(0, first.lastIndexOf("\n  ]")) + ","
                                            + second.substring(second.indexOf('[') + 1));
                            startStray(twoUserNode);
                        },
                        "entry_unreadable",
                        "env-owner",
                        "non-env-processes",
                        "environment_user_unknown"),
                Attack.delayedByGrace(
                        "empties devices.json, as `genv devices --reset` does",
                        writeStateAndStartStray(
                                (twoUserNode, files) -> files.device(0).device(1)),
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "empties devices.json, which is restored within the state-change grace",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(
                                    twoUserNode.validState().device(0).device(1));
                            twoUserNode.awaitGraceOfVictimJob();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            startStray(twoUserNode);
                        },
                        "env-devices",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "truncates devices.json to 0 bytes",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker("devices.json", "");
                            startStray(twoUserNode);
                        },
                        "state_unreadable",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "deletes the victim's attachment",
                        writeStateAndStartStray((twoUserNode, files) -> files.device(0)),
                        "env-devices",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "deletes the victim's environment",
                        writeStateAndStartStray((twoUserNode, files) -> files.withoutEnv(VICTIM_ENVIRONMENT)),
                        "inactive-env-processes",
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "removes the pid of the victim's job, which names no environment, from the victim's environment",
                        twoUserNode -> {
                            twoUserNode.restartVictimJobThroughSdk();
                            twoUserNode.writeAsAttacker(twoUserNode.validState());
                            twoUserNode.awaitGraceOfVictimJob();
                            startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.delayedByGrace(
                        "lowers the victim's capacity",
                        writeStateAndStartStray((twoUserNode, files) -> files.env(
                                VICTIM_ENVIRONMENT,
                                TestUsers.HONEST_UID,
                                VICTIM_NAME,
                                "1m",
                                twoUserNode.victimShell())),
                        "env-memory",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "runs a program with the name `nvidia-cuda-mps-server`",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "cp /usr/bin/sleep nvidia-cuda-mps-server && exec ./nvidia-cuda-mps-server 600",
                                        Map.of(),
                                        "nvidia-cuda-mps"),
                                2,
                                10),
                        "non-env-processes"),
                Attack.withoutEffect(
                        "overwrites the environment variables of the attacker's process",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(startWithOverwrittenEnviron(twoUserNode), 2, 10),
                        "non-env-processes"),
                Attack.preventingTermination(
                        "does the same, and lists its pid in the attacker's environment",
                        twoUserNode -> {
                            var process = startWithOverwrittenEnviron(twoUserNode);
                            twoUserNode.writeAsAttacker(twoUserNode
                                    .validState()
                                    .env(
                                            ATTACKER_ENVIRONMENT,
                                            TestUsers.ATTACKER_UID,
                                            ATTACKER_NAME,
                                            null,
                                            twoUserNode.attackerShell(),
                                            process.pid()));
                            twoUserNode.useGpuAsAttacker(process, 2, 10);
                        },
                        "membership_unknown"),
                Attack.withoutEffect(
                        "sets an id that cannot be decoded",
                        twoUserNode -> twoUserNode.useGpuAsAttacker(
                                twoUserNode.startAsAttacker(
                                        "GENV_ENVIRONMENT_ID=$(printf '\\377\\376') exec sleep 600", Map.of(), "sleep"),
                                2,
                                10),
                        "inactive-env-processes"),
                Attack.withoutEffect(
                        "holds genv's lock for ever",
                        twoUserNode -> {
                            twoUserNode.startAsAttacker("exec flock -x -F genv.lock sleep 600", Map.of(), "sleep");
                            startStray(twoUserNode);
                        },
                        "lock_timeout",
                        "non-env-processes"),
                Attack.withoutEffect(
                        "holds the service's own lock for ever",
                        twoUserNode -> {
                            twoUserNode.startAsAttacker(
                                    "rm -f .genv-enforcer.lock && exec flock -x -F .genv-enforcer.lock sleep 600",
                                    Map.of(),
                                    "sleep");
                            startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.preventingTermination(
                        "replaces every file by a symbolic link to a file of root's",
                        twoUserNode -> {
                            twoUserNode.runAsAttacker(
                                    "for file in envs.json devices.json genv.lock .genv-enforcer.lock; do rm -f $file; ln -s %s/$file $file; done"
                                            .formatted(twoUserNode.rootFiles));
                            startStray(twoUserNode);
                        },
                        "lock_unusable",
                        "membership_unknown",
                        "state_unreadable"),
                Attack.withoutEffect(
                        "adds 5,000 entries whose ids contain terminal control characters",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker(
                                    "envs.json",
                                    twoUserNode
                                            .validState()
                                            .envsJson()
                                            .replace("\"envs\": [", "\"envs\": [" + entriesWithControlCharacters()));
                            startStray(twoUserNode);
                        },
                        "entry_unreadable",
                        "more_problems",
                        "non-env-processes"));
    }

    /** She writes the state, changed like that, and starts a process outside of all environments. */
    private static Attack.Step writeStateAndStartStray(Change change) {
        return twoUserNode -> {
            twoUserNode.writeAsAttacker(change.apply(twoUserNode, twoUserNode.validState()));
            startStray(twoUserNode);
        };
    }

    private static void startStray(TwoUserNode twoUserNode) throws IOException {
        twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
    }

    private static Child startWithOverwrittenEnviron(TwoUserNode twoUserNode) throws IOException {
        return twoUserNode.startAsAttacker(
                "exec perl -e '$0 = \"x\" x 5000; sleep 600'", IN_ATTACKER_ENVIRONMENT, "xxxxxxxxxxxxxxx");
    }

    private static String entriesWithControlCharacters() {
        return IntStream.range(0, MANY)
                .mapToObj("{\"eid\": \"\\u001b[2J\\u202e\\n%d\", \"pids\": \"\", \"uid\": []},"::formatted)
                .collect(Collectors.joining());
    }

    private interface Change {
        StateFiles apply(TwoUserNode twoUserNode, StateFiles files);
    }
}
