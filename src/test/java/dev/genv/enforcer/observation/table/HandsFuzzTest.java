package dev.genv.enforcer.observation.table;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.observation.table.FakeMachine.Hands;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.Mutations;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The node and the agent observe the same random machines, and see the same. {@code -Dfuzz.seed} sets the first seed, and
 * {@code -Dfuzz.runs} twenty times the number of machines: an observation runs programs.
 */
@Timeout(600)
class HandsFuzzTest {
    private static final long SEED = Long.getLong("fuzz.seed", 20_261_120);
    private static final int RUNS = Math.max(1, Integer.getInteger("fuzz.runs", 400) / 20);
    private static final int OBSERVATIONS = 3;
    /** A machine that is too slow for the limits of time shows less to one of them. A difference is one if it is there each time. */
    private static final int ATTEMPTS = 3;

    @TempDir
    Path folder;

    @Test
    void nodeAndAgentObserveTheSameOfARandomMachine() throws Exception {
        Requirements.root();
        for (var seed = SEED; seed < SEED + RUNS; seed++) {
            var differences = differences(folder.resolve(seed + "-0"), seed);
            for (var attempt = 1; !differences.isEmpty() && attempt < ATTEMPTS; attempt++) {
                differences = differences(folder.resolve(seed + "-" + attempt), seed);
            }
            assertThat(differences)
                    .as("reproduce it with -Dfuzz.seed=%d -Dfuzz.runs=1", seed)
                    .isEmpty();
        }
    }

    /** Returns the parts of the observations that only the node or only the agent shows. */
    static List<String> differences(Path place, long seed) throws Exception {
        var differences = new ArrayList<String>();
        try (var machine = new DescribedMachine(Hands.NODE, place)) {
            var changes = new RandomMachine(machine, new Mutations(seed));
            var node = machine.host();
            machine.hands = Hands.AGENT;
            var agent = machine.host();
            for (var i = 0; i < OBSERVATIONS; i++) {
                var byNode = Facts.describe(node.observe(Set.of())).lines().toList();
                var byAgent = Facts.describe(agent.observe(Set.of())).lines().toList();
                byNode.stream()
                        .filter(line -> !byAgent.contains(line))
                        .forEach(line -> differences.add("node " + line));
                byAgent.stream()
                        .filter(line -> !byNode.contains(line))
                        .forEach(line -> differences.add("agent " + line));
                changes.change();
            }
        }
        return differences;
    }
}
