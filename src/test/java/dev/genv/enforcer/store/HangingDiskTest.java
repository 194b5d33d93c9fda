package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A write that does not come to its end, as on a hanging disk: here the thread of the database waits inside of it. */
class HangingDiskTest {
    private static final Duration LIMIT = Duration.ofMillis(100);

    @TempDir
    Path directory;

    private final CountDownLatch release = new CountDownLatch(1);

    @Test
    void tasksFailAtOnceUntilTheDiskAnswers() {
        try (var database =
                new Database(new Database.Config(Optional.of(directory), 64 << 20), LIMIT, TestTimeouts.HANG)) {
            assertThat(database.start(HangingDiskTest::count)).contains(0L);
            assertThatThrownBy(() -> database.write(_ -> {
                        awaitRelease();
                        return true;
                    }))
                    .hasMessageContaining("no answer within 100 ms");
            assertThat(database.problems()).extracting(Problem::code).containsExactly(ProblemCode.DATA_UNWRITABLE);
            for (var number = 0; number < 1_000; number++) {
                assertThatThrownBy(() -> database.call(HangingDiskTest::count))
                        .as("does not wait, and takes no memory")
                        .isInstanceOf(StoreException.class);
            }
            release.countDown();
            await().untilAsserted(() -> {
                assertThat(database.call(HangingDiskTest::count)).isZero();
                assertThat(database.problems()).isEmpty();
            });
        }
    }

    @Test
    void aStartThatIsTooLateRunsWithoutWhatEarlierRunsLeft() {
        try (var earlier = new Database(
                new Database.Config(Optional.of(directory), 64 << 20), TestTimeouts.HANG, TestTimeouts.HANG)) {
            assertThat(earlier.start(HangingDiskTest::count)).contains(0L);
        }
        try (var database = new Database(new Database.Config(Optional.of(directory), 64 << 20), LIMIT, LIMIT)) {
            assertThat(database.start(_ -> {
                        awaitRelease();
                        return true;
                    }))
                    .isEmpty();
            assertThat(database.hasLost()).isTrue();
            release.countDown();
            await().untilAsserted(() -> assertThatThrownBy(() -> database.call(HangingDiskTest::count))
                    .hasMessageContaining("another run"));
        }
    }

    private static long count(Connection connection) throws SQLException {
        return new Sql(connection).number("SELECT COUNT(*) FROM event");
    }

    private void awaitRelease() {
        try {
            release.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
