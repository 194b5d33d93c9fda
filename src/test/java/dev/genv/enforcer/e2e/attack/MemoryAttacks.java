package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** State files that use up the memory of the service. */
final class MemoryAttacks {
    private static final int CYCLES = 12;
    private static final int NAMES = 340;
    private static final String LONG_NAME = "k".repeat(48_990);
    private static final int ENVIRONMENTS = 300_000;
    private static final int USERS = 1_300;
    /** One such letter makes Java store every letter of the text in two bytes. */
    private static final String LONG_USER = "\u20ac" + "u".repeat(4_000);

    private MemoryAttacks() {}

    static List<Attack> all() {
        return List.of(
                Attack.preventingTermination(
                        "writes 340 field names of 49,000 characters, new ones in every cycle",
                        twoUserNode -> {
                            for (var cycle = 0; cycle < CYCLES; cycle++) {
                                twoUserNode.writeAsAttacker("envs.json", names(cycle));
                                twoUserNode.awaitTwoObservations();
                            }
                            twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
                        },
                        "membership_unknown",
                        "state_unreadable"),
                Attack.preventingTermination(
                        "writes 300,000 environments in the format before genv 0.9.0",
                        twoUserNode -> {
                            twoUserNode.writeAsAttacker("envs.json", environmentsOfOldForm());
                            twoUserNode.awaitTwoObservations();
                            twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
                        },
                        "membership_unknown",
                        "state_unreadable"),
                Attack.withoutEffect(
                        "writes 1,300 users above the quota, with new names of 4,000 characters in every cycle",
                        twoUserNode -> {
                            for (var cycle = 0; cycle < CYCLES; cycle++) {
                                twoUserNode.writeAsAttacker(users(twoUserNode, cycle));
                                twoUserNode.awaitTwoObservations();
                            }
                            twoUserNode.useGpuAsAttacker(Map.of(), 2, 10);
                        },
                        "max-devices-per-user",
                        "non-env-processes"));
    }

    private static String names(int cycle) {
        return IntStream.range(0, NAMES)
                .mapToObj(name -> "{\"eid\": \"%d\", \"%d-%d%s\": 1}".formatted(name, cycle, name, LONG_NAME))
                .collect(Collectors.joining(",", "{\"envs\": [", "]}"));
    }

    private static String environmentsOfOldForm() {
        return IntStream.range(0, ENVIRONMENTS)
                .mapToObj("\"%d\": {}"::formatted)
                .collect(Collectors.joining(",", "{\"envs\": {", "}}"));
    }

    private static StateFiles users(TwoUserNode twoUserNode, int cycle) throws IOException {
        var files = twoUserNode.validState();
        var eids = IntStream.range(0, USERS)
                .mapToObj(user -> "%d-%d".formatted(cycle, user))
                .toList();
        eids.forEach(eid -> files.env(eid, TestUsers.ATTACKER_UID, eid + LONG_USER, null, twoUserNode.attackerShell()));
        return files.device(1, concat(eids, TwoUserNode.ATTACKER_ENVIRONMENT)).device(2, concat(eids));
    }

    private static String[] concat(List<String> eids, String... more) {
        return Stream.concat(eids.stream(), Stream.of(more)).toArray(String[]::new);
    }
}
