package dev.genv.enforcer.e2e.attack;

import static dev.genv.enforcer.e2e.ServiceClient.TIME_LIMIT_CODES;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.NEW_ENVIRONMENT;
import static dev.genv.enforcer.e2e.attack.TwoUserNode.VICTIM_ENVIRONMENT;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.OutcomeSuite;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** The attacker against bob, two real users, on a node with the packaged service. Every attack has a node of its own. */
@Tag("long")
class AttacksIT extends OutcomeSuite<Attack, AttacksIT.AttackRunner.Outcome> {
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
                        HistoryAttacks.onQuotas(),
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

    /** Runs an attack on a node, and checks its outcome. */
    static final class AttackRunner {
        /** They take longer than the grace period. */
        private static final int OBSERVATIONS = 6;

        /** Far more than any takes. Their number is limited, not their time: some attacks make a cycle long. */
        private static final int MOST_OBSERVATIONS = 300;

        /**
         * Reported only by chance: a recorded owner changes between the two readings of an observation, or a file is read while the attacker
         * writes it in place.
         */
        private static final Set<String> CHANCE_CODES = Set.of("environment_user_unknown", "state_unreadable");

        private final TwoUserNode node;
        private final Attack attack;
        private final Set<String> reported = new TreeSet<>();

        /** The outcome of an attack. */
        record Outcome(Attack attack, boolean isVictimAlive, boolean isAttackerAlive, Set<String> reported) {}

        AttackRunner(TwoUserNode node, Attack attack) {
            this.node = node;
            this.attack = attack;
        }

        Outcome run() throws Exception {
            node.serviceClient.awaitHealthy();
            attack.step.run(node);
            observeUntilExpected();
            var client = node.serviceClient;
            var service = node.service;
            assertThat(client.status("/q/health/live")).as("liveness").isEqualTo(200);
            assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
            assertThat(node.areRootFilesUnchanged())
                    .as("root's files are unchanged")
                    .isTrue();
            assertThat(service.outputLines())
                    .as("the log")
                    .noneMatch(line -> line.contains("\u001b") || line.contains("\u202e"));
            assertThat(reported).isEqualTo(new TreeSet<>(attack.reported));
            assertActionsOnVictim();
            return new Outcome(attack, node.isVictimJobAlive(), node.isAttackerProcessAlive(), reported);
        }

        private void observeUntilExpected() throws IOException {
            var client = node.serviceClient;
            var observation = client.observe();
            for (var observations = 0; observations < OBSERVATIONS || !isAsExpected(); observations++) {
                assertThat(observations)
                        .as(
                                "bob's job %s, the attacker's process %s, reported %s",
                                node.isVictimJobAlive(), node.isAttackerProcessAlive(), reported)
                        .isLessThan(MOST_OBSERVATIONS);
                observation = client.awaitNext(observation);
                reported.addAll(observation.problems());
                assertVictimIsNotMoved();
                client.json("/violations")
                        .forEach(
                                violation -> reported.add(violation.path("rule").asText()));
                reported.removeIf(code -> (TIME_LIMIT_CODES.contains(code) || CHANCE_CODES.contains(code))
                        && !attack.reported.contains(code));
            }
        }

        /** Bob's job is in an environment that bob names, or in none. */
        private void assertVictimIsNotMoved() throws IOException {
            for (var process :
                    node.serviceClient.json("/snapshot").findPath("processes").path("processes")) {
                if (process.path("pid").asInt() == node.victimJob()) {
                    assertThat(process.path("eid").asText("")).isIn("", "null", VICTIM_ENVIRONMENT, NEW_ENVIRONMENT);
                }
            }
        }

        private boolean isAsExpected() {
            return node.isVictimJobAlive() != attack.terminatesVictim
                    && node.isAttackerProcessAlive() == attack.protectsAttacker
                    && reported.containsAll(attack.reported);
        }

        private void assertActionsOnVictim() throws IOException {
            var lines = node.service.outputLines();
            var actions = lines.stream()
                    .filter(line -> line.contains("action=") && line.contains("pid=%d ".formatted(node.victimJob())))
                    .toList();
            if (node.isVictimJobAlive()) {
                assertThat(actions).noneMatch(line -> line.contains("outcome=signalled"));
                assertThat(lines)
                        .noneMatch(line -> line.contains("environment=\"%s\"".formatted(VICTIM_ENVIRONMENT))
                                && line.contains("outcome=detached"));
            } else {
                assertThat(actions.getFirst()).contains("outcome=skipped_grace");
            }
        }
    }
}
