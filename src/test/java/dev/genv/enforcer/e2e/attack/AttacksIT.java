package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_ATTACKER_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.IN_VICTIM_ENVIRONMENT;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.OutcomeSuite;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.TestCgroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The attacker against bob, two real users, on a node with the packaged service. Every attack has a node of its own. */
@Tag("long")
class AttacksIT extends OutcomeSuite<Attack, AttackRunner.Outcome> {
    private static final int MAX_PARALLEL = 6;
    private static final String BECOME_ATTACKER = "uid:" + TestUsers.ATTACKER_UID;
    private static final String BECOME_VICTIM = "uid:" + TestUsers.HONEST_UID;

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
            outcome.isVictimAlive() ? "unaffected" : "terminated after the grace period, reported",
            "unchanged",
            outcome.isAttackerAlive() ? "not terminated while the attack lasts" : "terminated",
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

    /** The attacker has processes in the cgroup of bob's job. Root puts them there, as no user can. */
    @Test
    void victimsOverwrittenEnvironIsNotReplacedByTheAttackersInOneCgroup(@TempDir Path directory) throws Exception {
        runInCgroup(
                directory,
                join -> Attack.named("a cgroup")
                        .reporting("env-devices", "membership_unknown")
                        .by(node -> {
                            node.restartVictimJobAs(
                                    0, IN_VICTIM_ENVIRONMENT, join, "orphan", "setsid", BECOME_VICTIM, "clear");
                            node.startSteps(0, IN_ATTACKER_ENVIRONMENT, join, "setsid", BECOME_ATTACKER);
                            useGpus(node, join);
                        }));
    }

    @Test
    void attackersOverwrittenEnvironIsNotReplacedByTheVictimsInOneCgroup(@TempDir Path directory) throws Exception {
        runInCgroup(
                directory,
                join -> Attack.named("a cgroup")
                        .preventingTermination()
                        .reporting("membership_unknown")
                        .by(node -> {
                            node.restartVictimJobAs(0, IN_VICTIM_ENVIRONMENT, join, "setsid", BECOME_VICTIM);
                            useGpus(node, join);
                        }));
    }

    private static void useGpus(TwoUserNode node, String join) throws IOException {
        node.useGpuAsVictim(0);
        var process = node.startSteps(0, IN_VICTIM_ENVIRONMENT, join, "orphan", "setsid", BECOME_ATTACKER, "clear");
        node.useGpuAsAttacker(process, 2, 10);
    }

    /** Runs an attack with a step by which a process joins the cgroup. */
    private static void runInCgroup(Path directory, Function<String, Attack> attack) throws Exception {
        Requirements.rootWithCapabilities();
        Files.setAttribute(directory, "unix:mode", 0755);
        try (var cgroup = TestCgroup.create()) {
            runAttack(attack.apply("cgroup:" + cgroup.directory()), directory.resolve("node"));
        }
    }
}
