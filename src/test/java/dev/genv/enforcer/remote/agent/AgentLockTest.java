package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.RealFlock;
import dev.genv.enforcer.testsupport.RealLease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Users who keep genv's lock from everybody else, by what they may do with a file of their own. */
@Timeout(600)
class AgentLockTest {
    private final CountDownLatch replaced = new CountDownLatch(1);
    private static final String LEASE_PROBLEM = "genv.lock is kept from being opened by its owner (fcntl F_SETLEASE)";

    private final Path folder;
    private final Machine machine;
    private final Path lock;
    private final Child child = Child.inEnvironment("15971");

    AgentLockTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder).lockTimeout(Duration.ofMillis(300));
        lock = machine.state.resolve("genv.lock");
    }

    @BeforeEach
    void writeState() throws IOException {
        machine.writeOneEnvironment(child);
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    /** Whoever opens such a file waits for most of a minute; the look must be over long before. */
    @Test
    void observesDespiteAFileLeaseOnTheLock() throws Exception {
        var agent = machine.agent();
        try (var _ = RealLease.take(lock)) {
            var observation = agent.observe(machine.python, Set.of());
            assertThat(observation.snapshot().environments()).hasSize(1);
            assertThat(observation.snapshot().missing()).isEmpty();
            assertThat(observation.snapshot().problems())
                    .contains(new Problem(
                            ProblemCode.LOCK_UNUSABLE,
                            LEASE_PROBLEM + ". The state is read without it; nothing can be detached"));
            assertThat(detach(agent)).isEqualTo(Result.failed(LEASE_PROBLEM));
        }
        assertThat(agent.observe(machine.python, Set.of()).snapshot().problems())
                .extracting(Problem::code)
                .doesNotContain(ProblemCode.LOCK_UNUSABLE);
        assertThat(detach(agent)).isEqualTo(Result.of(Outcome.DETACHED));
    }

    @Test
    void observesDespiteAFileLeaseOnAStateFile() throws Exception {
        try (var _ = RealLease.take(machine.state.resolve("devices.json"))) {
            var observation = machine.observe();
            assertThat(observation.snapshot().environments()).hasSize(1);
            assertThat(observation.snapshot().problems())
                    .extracting(Problem::code)
                    .contains(ProblemCode.STATE_UNREADABLE);
        }
    }

    /** Each of them is held for less than we wait, and is replaced by another one that is held by then. */
    @Test
    void waitsOnlyOneLockTimeoutForReplacedLockFiles() throws Exception {
        var churn = Thread.ofPlatform().start(this::keepReplacingTheLock);
        try {
            replaced.await();
            var observation = machine.observe();
            assertThat(observation.snapshot().problems())
                    .filteredOn(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                    .extracting(Problem::code)
                    .containsExactly(ProblemCode.LOCK_TIMEOUT);
            assertThat(observation.lockWait()).isPositive();
        } finally {
            churn.interrupt();
            churn.join();
        }
    }

    private void keepReplacingTheLock() {
        try {
            var next = folder.resolve("next");
            var held = RealFlock.take(next);
            Files.move(next, lock, StandardCopyOption.ATOMIC_MOVE);
            replaced.countDown();
            while (!Thread.currentThread().isInterrupted()) {
                var former = held;
                held = RealFlock.take(next);
                pause();
                // Before the former one is released: at no moment the file in place is free.
                Files.move(next, lock, StandardCopyOption.ATOMIC_MOVE);
                former.close();
            }
            held.close();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(200); // the subject of it: how long each is held
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Result detach(Machine.AgentHost agent) throws Exception {
        var snapshot = agent.observe(machine.python, Set.of()).snapshot();
        var attachment = snapshot.devices().getFirst().attachments().getFirst();
        var results = new HashMap<Action, Result>();
        var action = new Action.Detach("gpu-1", snapshot.environments().getFirst(), 0, attachment);
        agent.execute(machine.python, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }
}
