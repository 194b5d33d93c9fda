package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Host.Remembered;
import dev.genv.enforcer.enforcement.host.HostWorker.Kind;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(600)
class HostWorkersTest {
    /** No test waits so long. */
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private final List<Host> hosts = new ArrayList<>();
    private HostWorkers workers = workers(TIMEOUT);
    private final CompletableFuture<Boolean> begun = new CompletableFuture<>();
    private final CompletableFuture<Boolean> release = new CompletableFuture<>();
    private final FakeHost fine = new FakeHost(host("fine").with(env("a")));
    private final FakeHost other = new FakeHost(host("other").with(env("b")));

    /** Otherwise a limit would change while a host does not answer. */
    @Test
    void keepsTheAccountsOfAHostThatDoesNotAnswer() throws InterruptedException {
        hosts.add(other.setAccounts(Map.of("alice", 1001L)));
        assertThat(collect().getLast().details().accounts().uidOf("alice")).hasValue(1001L);
        other.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "it does not answer");
        });
        for (var i = 0; i < 2; i++) {
            var seen = collect().getLast();
            assertThat(seen.isReached()).isFalse();
            assertThat(seen.details().accounts().uidOf("alice")).hasValue(1001L);
        }
    }

    @Test
    void reportsWhyAHostWasNotReached() throws InterruptedException {
        hosts.addAll(List.of(fine, other.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_KEY_CHANGED, "it shows another key");
        })));
        var reports = collect();
        assertThat(reports.getFirst().isComplete()).isTrue();
        assertThat(reports.getLast().isReached()).isFalse();
        assertThat(reports.getLast().problems())
                .containsExactly(new Problem(ProblemCode.HOST_KEY_CHANGED, "it shows another key"));
        assertThat(reports.getLast().details().answer().last()).isNull();
        other.setSnapshot(host("other"));
        assertThat(collect().getLast().details().answer().last()).isNotNull();
    }

    @Test
    void waitsOnlyBrieflyForHostThatFailedLastTime() throws InterruptedException {
        workers = workers(Duration.ofSeconds(30));
        hosts.addAll(List.of(other, fine));
        refuse();
        collect();
        other.setSnapshot(host("other")).hang(begun, release);

        assertThat(collect().getFirst().problems())
                .as("it goes on by itself")
                .containsExactly(new Problem(ProblemCode.HOST_UNREACHABLE, "no answer yet; before that: refused"));
        assertThat(collect().getFirst().problems())
                .extracting(Problem::code)
                .as("and is left out while it does")
                .containsExactly(ProblemCode.BUSY);
        release.complete(true);
        await().untilAsserted(() -> assertThat(collect()).allMatch(Snapshot::isReached));
    }

    @Test
    void waitsAgainForHostThatHasRecovered() throws InterruptedException {
        hosts.addAll(List.of(other, fine));
        refuse();
        collect();
        other.setSnapshot(host("other"));
        await().untilAsserted(() -> assertThat(collect()).allMatch(Snapshot::isReached));
        other.setSnapshot(host("other")).hang(begun, release);
        releaseOnceBegun();
        assertThat(collect()).allMatch(Snapshot::isReached);
    }

    /** No other host waits for it. */
    @Test
    void waitsForAllHostsWhenNoneAnsweredLastTime() throws InterruptedException {
        hosts.add(other);
        other.observeWith(() -> {
            throw new IllegalStateException("broken");
        });
        collect();
        other.setSnapshot(host("other")).hang(begun, release);
        releaseOnceBegun();
        assertThat(collect()).allMatch(Snapshot::isReached);
    }

    @Test
    void hostsCanBeAddedAndRemoved() throws InterruptedException {
        hosts.add(fine);
        collect();
        hosts.add(other);
        assertThat(collect()).extracting(Snapshot::host).containsExactly("fine", "other");
        hosts.remove(fine);
        assertThat(collect()).extracting(Snapshot::host).containsExactly("other");
        assertThat(workers.worker("fine")).isNull();
    }

    @Test
    void removingAHostInterruptsItsWork() throws Exception {
        var interrupted = new CountDownLatch(1);
        hosts.add(fine);
        collect();
        Objects.requireNonNull(workers.worker("fine")).start(Kind.OBSERVE, () -> {
            begun.complete(true);
            try {
                return new CountDownLatch(1).await(1, TimeUnit.HOURS);
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        });
        begun.join();
        hosts.clear();
        collect();
        interrupted.await();
    }

    @Test
    void passesEachHostOnlyItsOwnProcesses() throws InterruptedException {
        var process = new ProcessId(7, 70);
        hosts.addAll(List.of(fine.setExited(process), other.setExited(process)));
        var reports =
                workers.observe(_ -> Remembered.NOTHING, PolicyValues.NONE, Set.of(new HostProcess("other", process)));
        assertThat(reports.getFirst().details().ended()).isEmpty();
        assertThat(reports.getLast().details().ended()).containsExactly(process);
    }

    private HostWorkers workers(Duration timeout) {
        return new HostWorkers(() -> List.copyOf(hosts), true, timeout, Ticker.ofSystem());
    }

    private List<Snapshot> collect() throws InterruptedException {
        return workers.observe(_ -> Remembered.NOTHING, PolicyValues.NONE, Set.of());
    }

    private void refuse() {
        other.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "refused");
        });
    }

    private void releaseOnceBegun() {
        Thread.ofVirtual().start(() -> {
            begun.join();
            release.complete(true);
        });
    }

    private static HostWorker worker(Executor threads) {
        return new HostWorker(new FakeHost(host("gpu-1")), threads, Ticker.ofSystem());
    }

    /** A cycle acts as soon as it has looked. */
    @Test
    void acceptsWorkAsSoonAsTheResultIsReturned() throws Exception {
        var worker = worker(HostWorkers.threads(false));
        for (var i = 0; i < 10_000; i++) {
            assertThat(worker.start(Kind.OBSERVE, () -> 1).await(TIMEOUT, true)).isEqualTo(1);
        }
    }

    /** On a machine with one CPU there is one carrier thread, and a computation on it would block all others. */
    @Test
    void runsOnADaemonPlatformThread() throws Exception {
        var thread = worker(HostWorkers.threads(false))
                .start(Kind.OBSERVE, Thread::currentThread)
                .await(TIMEOUT, true);
        assertThat(thread.isVirtual()).isFalse();
        assertThat(thread.isDaemon())
                .as("nor does it keep the service from ending")
                .isTrue();
    }

    /** Users can start as many processes as the machine allows. */
    @Test
    void acceptsWorkAfterTheMachineAllowedNoThread() throws Exception {
        var attempts = new AtomicInteger();
        var threads = HostWorkers.threads(false);
        var starved = worker(task -> {
            if (attempts.getAndIncrement() == 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            threads.execute(task);
        });
        assertThatThrownBy(() -> starved.start(Kind.OBSERVE, () -> 1).await(TIMEOUT, true))
                .isInstanceOf(UnreachableException.class)
                .hasMessage("not started: unable to create native thread");
        assertThat(starved.start(Kind.OBSERVE, () -> 2).await(TIMEOUT, true)).isEqualTo(2);
    }
}
