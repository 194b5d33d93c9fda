package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.Suite;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.state.StateWriter;
import dev.genv.enforcer.testsupport.state.StateWriter.Habit;
import dev.genv.enforcer.testsupport.state.StateWriter.Holder;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Other programs write the state at full speed while the service detaches. The service must change exactly what it reports: no other user loses an attachment, no attachment reappears, and no process is terminated because of a partly written file.
 */
@Tag("long")
@Timeout(600)
class ConcurrencyIT extends NodeSuite {
    private static final int DEVICES = 8;
    private static final int MIN_ROUNDS = 100;
    private static final String DETACHED = "action=detach";

    private final List<Child> children = new ArrayList<>();

    @Test
    void concurrentWritesLoseAndRestoreNothing() throws IOException {
        Requirements.root();
        try (var member = Child.ofUser(TestUsers.HONEST_UID, Map.of("GENV_ENVIRONMENT_ID", "steady"))) {
            var stateWriter = new StateWriter(
                    node.stateDirectory,
                    DEVICES,
                    List.of(
                            holder("steady", TestUsers.HONEST_UID, Habit.STEADY),
                            holder("modest-1", TestUsers.HONEST_UID + 10, Habit.MODEST),
                            holder("modest-2", TestUsers.HONEST_UID + 11, Habit.MODEST),
                            holder("greedy-1", TestUsers.HONEST_UID + 12, Habit.GREEDY),
                            holder("greedy-2", TestUsers.HONEST_UID + 13, Habit.GREEDY)),
                    System.nanoTime());
            node.gpus.gpus(DEVICES).process(0, member.pid(), "10");
            var service = node.set("MAX_DEVICES_PER_USER", 1)
                    // The service acts in the cycle that observes a violation.
                    .set("GRACE", "0s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("INACTIVE_ENV_PROCESSES", "enforce")
                    .startService();

            var end = System.nanoTime()
                    + Duration.ofSeconds(Suite.repetitions(5, 60)).toNanos();
            while (System.nanoTime() < end
                    || stateWriter.rounds() <= MIN_ROUNDS
                    || stateWriter.lostAttachments().isEmpty()) {
                stateWriter.writeRound();
            }
            await().until(stateWriter::isEveryHolderWithinQuota);

            assertThat(member.isAlive()).isTrue();
            await().untilAsserted(
                            () -> assertThat(detachments(service)).isEqualTo(counted(stateWriter.lostAttachments())));
            assertThat(service.outputLines())
                    .noneMatch(line -> line.contains("action=terminate"))
                    .noneMatch(line -> line.contains("state_unreadable"));
            System.out.printf(
                    "ConcurrencyIT: %d turns, %d detachments%n",
                    stateWriter.rounds(), stateWriter.lostAttachments().size());
        } finally {
            children.forEach(Child::close);
        }
    }

    private Holder holder(String name, long uid, Habit habit) throws IOException {
        var shell = Child.ofUser(uid);
        children.add(shell);
        return new Holder(name, uid, shell.pid(), habit);
    }

    /** The detachments that the service reports, in the format of the ledger. */
    private static Map<String, Integer> detachments(Node.Service service) throws IOException {
        return counted(service.outputLines().stream()
                .filter(line -> line.contains(DETACHED) && line.contains("outcome=detached"))
                .map(line -> line.substring(line.indexOf("environment="), line.indexOf("signal=")))
                .toList());
    }

    private static Map<String, Integer> counted(List<String> texts) {
        var counted = new TreeMap<String, Integer>();
        texts.forEach(text -> counted.merge(text, 1, Integer::sum));
        return counted;
    }
}
