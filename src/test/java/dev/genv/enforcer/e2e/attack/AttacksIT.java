package dev.genv.enforcer.e2e.attack;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.OutcomeSuite;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The attacker against bob, two real users, on a node with the packaged service. Every attack has a node of its own. */
@Tag("long")
class AttacksIT extends OutcomeSuite<Attack, AttackRunner.Outcome> {
    private static final int MAX_PARALLEL = 6;

    AttacksIT() {
        super(
                Executors.newFixedThreadPool(MAX_PARALLEL),
                "attacks.md",
                "attacks",
                "the attacker",
                "the victim's job",
                "root's files",
                "the attacker's process",
                "reported");
    }

    @BeforeAll
    void startAttacks(@TempDir Path directory) throws IOException {
        Files.setAttribute(directory, "unix:mode", 0755); // both users must be able to enter it
        var number = 0;
        for (var attack : attacks()) {
            var place = directory.resolve("attack-" + number++);
            start(List.of(attack), all -> all.run(_ -> runAttack(attack, place)));
        }
    }

    private static List<Attack> attacks() {
        return Stream.of(
                        EntryAttacks.forging(),
                        EntryAttacks.removing(),
                        ProcessAttacks.all(),
                        MembershipAttacks.ofAttackersProcess(),
                        MembershipAttacks.ofVictimsProcess(),
                        NodeAttacks.onFiles(),
                        NodeAttacks.onTheObservation(),
                        NodeAttacks.onSignals(),
                        NodeAttacks.onTheMemory(),
                        HistoryAttacks.onObservedEntries(),
                        HistoryAttacks.onEndedEnvironments(),
                        HistoryAttacks.onUnobservedEntries())
                .flatMap(List::stream)
                .toList();
    }

    @Override
    protected String[] cells(AttackRunner.Outcome outcome) {
        return new String[] {
            outcome.attack().name,
            outcome.victimOutcome().description,
            "unchanged",
            outcome.attackerOutcome().description,
            outcome.reported().stream().map("`%s`"::formatted).collect(Collectors.joining(", "))
        };
    }

    private static AttackRunner.Outcome runAttack(Attack attack, Path directory) throws Exception {
        Requirements.root();
        try (var node = new Node(Files.createDirectory(directory))) {
            attack.preparation.run(node);
            try (var users = new TwoUserNode(node)) {
                return new AttackRunner(users, attack).run();
            }
        }
    }
}
