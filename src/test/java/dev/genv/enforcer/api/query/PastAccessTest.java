package dev.genv.enforcer.api.query;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.store.Database;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class PastAccessTest {
    private final Database database = new Database(new Database.Config(Optional.empty(), 1 << 20));
    private final CountDownLatch isReleased = new CountDownLatch(1);
    private final AtomicInteger reading = new AtomicInteger();
    private final AtomicInteger most = new AtomicInteger();

    @AfterEach
    void close() {
        isReleased.countDown();
        database.close();
    }

    @Test
    void requestsReadOneAfterTheOther() throws Exception {
        var access = new PastAccess(database, HANG);
        var first = readAside(access);
        await().untilAtomic(reading, equalTo(1));
        var others = CompletableFuture.allOf(readAside(access), readAside(access));
        isReleased.countDown();

        CompletableFuture.allOf(first, others).get(HANG.toSeconds(), TimeUnit.SECONDS);
        assertThat(most).hasValue(1);
    }

    @Test
    void requestThatWaitsTooLongIsRefusedAndTheNextOneReads() throws Exception {
        var access = new PastAccess(database, Duration.ofMillis(1));
        var first = readAside(access);
        await().untilAtomic(reading, equalTo(1));

        assertThatThrownBy(() -> access.read(this::read))
                .isInstanceOfSatisfying(
                        ApiException.class, e -> assertThat(e.status()).isEqualTo(503))
                .hasMessageEndingWith("try again soon");

        isReleased.countDown();
        first.get(HANG.toSeconds(), TimeUnit.SECONDS);
        assertThat(access.read(this::read)).isTrue();
    }

    @Test
    void requestThatFailsEndsItsTurn() {
        var access = new PastAccess(database, HANG);
        isReleased.countDown();
        database.close();
        assertThatThrownBy(() -> access.read(its -> its.call(_ -> true)))
                .isInstanceOfSatisfying(
                        ApiException.class, e -> assertThat(e.status()).isEqualTo(503))
                .hasMessageContaining("the service is being stopped");
        assertThat(access.read(this::read)).isTrue();
    }

    private CompletableFuture<Boolean> readAside(PastAccess access) {
        var result = new CompletableFuture<Boolean>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                result.complete(access.read(this::read));
            } catch (RuntimeException e) {
                result.completeExceptionally(e);
            }
        });
        return result;
    }

    private boolean read(Database its) {
        assertThat(its).isSameAs(database);
        most.accumulateAndGet(reading.incrementAndGet(), Math::max);
        try {
            isReleased.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        reading.decrementAndGet();
        return true;
    }
}
