package dev.genv.enforcer.e2e.attack;

import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.Table;
import dev.genv.enforcer.e2e.fault.ParallelFaults;
import dev.genv.enforcer.testsupport.Requirements;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** The attacker against bob, two real users, on a node with the packaged service. Every attack has a node of its own. */
@Tag("long")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class AttacksIT {
    private static final int MAX_PARALLEL = 6;

    private final Map<Attack, Future<AttackRunner.Outcome>> outcomes = new LinkedHashMap<>();
    private final ExecutorService attackers = Executors.newFixedThreadPool(MAX_PARALLEL);

    @BeforeAll
    void startAttacks(@TempDir Path directory) throws Exception {
        Files.setAttribute(directory, "unix:mode", 0755); // both users must be able to enter it
        for (var attack : allAttacks()) {
            var place = directory.resolve("attack-" + outcomes.size());
            outcomes.put(attack, attackers.submit(() -> runAttack(attack, place)));
        }
    }

    private static List<Attack> allAttacks() {
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

    @TestFactory
    @Order(1)
    Stream<DynamicTest> attackHasTheExpectedOutcome() {
        return outcomes.entrySet().stream()
                .map(entry -> dynamicTest(entry.getKey().name, () -> ParallelFaults.result(entry.getValue())));
    }

    @Test
    @Order(2)
    void pageListsTheOutcomes() throws Exception {
        var table = new Table(
                "attacks.md",
                "attacks",
                "the attacker",
                "the victim's job",
                "root's files",
                "the attacker's process",
                "reported");
        var all = new ArrayList<AttackRunner.Outcome>();
        for (var outcome : outcomes.values()) {
            all.add(ParallelFaults.result(outcome));
        }
        table.writeAndCheck(all, AttacksIT::tableCells);
    }

    private static String[] tableCells(AttackRunner.Outcome outcome) {
        return new String[] {
            outcome.attack().name,
            outcome.victimOutcome().description,
            "unchanged",
            outcome.attackerOutcome().description,
            outcome.reported().stream().map("`%s`"::formatted).collect(Collectors.joining(", "))
        };
    }

    @AfterAll
    void closeExecutor() {
        attackers.close();
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
