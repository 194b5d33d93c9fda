package dev.genv.enforcer.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.StateWriter;
import dev.genv.enforcer.testsupport.StateWriter.Habit;
import dev.genv.enforcer.testsupport.StateWriter.Holder;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Others write the state at full speed while the service detaches. Whatever the service did to it must be what it says that
 * it did: nobody else loses an attachment, none comes back, and nobody is ended for a file that was half written.
 */
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
                    // Whatever is seen is acted on at once.
                    .set("STATE_CHANGE_GRACE", "0s")
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

    /** What the service says that it detached, in the words of the ledger. */
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
