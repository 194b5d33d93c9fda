package dev.genv.enforcer.e2e.attack;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The attacker holds the locks, or replaces the state files. */
final class FileAttacks {
    private static final int MANY = 5_000;

    private FileAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.withoutEffect(
                        "holds genv's lock for ever",
                        twoUserNode -> {
                            twoUserNode.startAsAttacker("exec flock -x -F genv.lock sleep 600", Map.of(), "sleep");
                            AttackSteps.startStray(twoUserNode);
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
                            AttackSteps.startStray(twoUserNode);
                        },
                        "non-env-processes"),
                Attack.withoutEffect(
                        "replaces genv's lock by a folder",
                        twoUserNode -> {
                            twoUserNode.runAsAttacker("rm -f genv.lock && mkdir -p genv.lock/folder");
                            AttackSteps.startStray(twoUserNode);
                        },
                        "lock_unusable",
                        "non-env-processes"),
                Attack.preventingTermination(
                        "replaces every file by a symbolic link to a file of root's",
                        twoUserNode -> {
                            twoUserNode.runAsAttacker(
                                    "for file in envs.json devices.json genv.lock .genv-enforcer.lock; do rm -f $file; ln -s %s/$file $file; done"
                                            .formatted(twoUserNode.rootFiles.directory()));
                            AttackSteps.startStray(twoUserNode);
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
                            AttackSteps.startStray(twoUserNode);
                        },
                        "entry_unreadable",
                        "more_problems",
                        "non-env-processes"));
    }

    private static String entriesWithControlCharacters() {
        return IntStream.range(0, MANY)
                .mapToObj("{\"eid\": \"\\u001b[2J\\u202e\\n%d\", \"pids\": \"\", \"uid\": []},"::formatted)
                .collect(Collectors.joining());
    }
}
