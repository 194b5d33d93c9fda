package dev.genv.enforcer.remote.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Outcome;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Users who keep genv's lock from everybody else, by what they may do with a file of their own. */
@Timeout(600)
@ParameterizedClass
@MethodSource("shells")
class ShellLockTest {
    private final CountDownLatch replaced = new CountDownLatch(1);
    private static final String LEASED = "genv.lock is kept from being opened by its owner (fcntl F_SETLEASE)";

    private final Path folder;
    private final Machine machine;
    private final Path lock;
    private final Child child = Child.inEnvironment("15971");

    ShellLockTest(String shell, @TempDir Path folder) throws IOException {
        this.folder = folder;
        machine = new Machine(folder, shell).lockTimeout(Duration.ofMillis(300));
        lock = machine.state.resolve("genv.lock");
    }

    static Stream<String> shells() {
        return OneShell.all();
    }

    @BeforeEach
    void write() throws IOException {
        machine.hasOneEnvironment(child);
    }

    @AfterEach
    void end() {
        child.close();
    }

    /** Whoever opens such a file waits for most of a minute; the look must be over long before. */
    @Test
    void aLeaseOnTheLockKeepsNobodyFromLooking() throws Exception {
        var agent = machine.agent();
        try (var _ = RealLease.take(lock)) {
            var look = agent.look(machine.shell, Set.of());
            assertThat(look.snapshot().environments()).hasSize(1);
            assertThat(look.snapshot().missing()).isEmpty();
            assertThat(look.snapshot().problems())
                    .contains(new Problem(
                            ProblemCode.LOCK_UNUSABLE,
                            LEASED + ". The state is read without it; nothing can be detached"));
            assertThat(detach(agent)).isEqualTo(Result.failed(LEASED));
        }
        assertThat(agent.look(machine.shell, Set.of()).snapshot().problems())
                .extracting(Problem::code)
                .doesNotContain(ProblemCode.LOCK_UNUSABLE);
        assertThat(detach(agent)).isEqualTo(Result.of(Outcome.DETACHED));
    }

    @Test
    void aLeaseOnAStateFileKeepsNobodyFromLooking() throws Exception {
        try (var _ = RealLease.take(machine.state.resolve("devices.json"))) {
            var look = machine.look();
            assertThat(look.snapshot().environments()).hasSize(1);
            assertThat(look.snapshot().problems()).extracting(Problem::code).contains(ProblemCode.STATE_UNREADABLE);
        }
    }

    /** Each of them is held for less than we wait, and is replaced by another one that is held by then. */
    @Test
    void locksThatReplaceEachOtherAreNotWaitedForLongerThanOne() throws Exception {
        var churn = Thread.ofPlatform().start(this::replaceAgainAndAgain);
        try {
            replaced.await();
            var look = machine.look();
            assertThat(look.snapshot().problems())
                    .filteredOn(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                    .extracting(Problem::code)
                    .containsExactly(ProblemCode.LOCK_TIMEOUT);
            assertThat(look.lockWait()).isPositive();
        } finally {
            churn.interrupt();
            churn.join();
        }
    }

    private void replaceAgainAndAgain() {
        try {
            var next = folder.resolve("next");
            var held = RealFlock.take(next);
            while (!Thread.currentThread().isInterrupted()) {
                Files.move(next, lock, StandardCopyOption.ATOMIC_MOVE);
                replaced.countDown();
                var former = held;
                held = RealFlock.take(next);
                pause();
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

    private Result detach(ShellAgent agent) throws Exception {
        var snapshot = agent.look(machine.shell, Set.of()).snapshot();
        var attachment = snapshot.devices().getFirst().attachments().getFirst();
        var results = new HashMap<Action, Result>();
        var action = new Action.Detach("gpu-1", snapshot.environments().getFirst(), 0, attachment);
        agent.perform(machine.shell, List.of(action), results::put);
        return Objects.requireNonNull(results.get(action));
    }
}
