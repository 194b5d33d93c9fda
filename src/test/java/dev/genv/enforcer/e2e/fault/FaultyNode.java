package dev.genv.enforcer.e2e.fault;

import static dev.genv.enforcer.e2e.ServiceClient.TIME_LIMIT_CODES;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.fault.Faults.Fault;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A node with a service that enforces, a program that uses genv's lock, and one job that breaks no rule: its environment is alive, its device is attached, and it uses no more than its capacity. No fault may affect the job.
 */
final class FaultyNode implements Closeable {
    static final int GPUS = 3;
    private static final String ENVIRONMENT = "own";
    private static final Closeable NO_HELPER = () -> {};
    private static final Duration LOCK_PAUSE = Duration.ofMillis(10);
    private static final Duration OBSERVATION_TIME = Duration.ofMillis(2500);

    final Node node;
    final Path state;
    private final Child shell;
    private final Child member;
    private final Node.Service service;
    private final ServiceClient serviceClient;
    /** A program that takes and releases genv's lock again and again. */
    private final BackgroundLoop lockUser;

    private final AtomicInteger timesTaken = new AtomicInteger();
    private boolean isLockPaused;
    private ServiceClient otherClient;
    private Closeable helper = NO_HELPER;

    /** The observed effects of a fault. */
    record Outcome(Fault fault, boolean isStrayAlive, Set<String> reported, String health) {}

    /** Changes the node before the service is started. */
    interface Preparation {
        void prepare(Node node) throws Exception;
    }

    /** Uses this node; its creator closes it. */
    FaultyNode(Node node, Preparation preparation) throws Exception {
        this.node = node;
        state = node.stateDirectory;
        node.gpus.gpus(GPUS);
        // The grace period is not the subject of the faults.
        node.set("NON_ENV_PROCESSES", "enforce").set("LOCK_TIMEOUT", "2s").set("GRACE", "1s");
        preparation.prepare(node);
        shell = Child.withEnvironment(Map.of());
        member = Child.inEnvironment(ENVIRONMENT);
        node.state
                .ownEnv(ENVIRONMENT, "8g", shell.pid())
                .device(0, ENVIRONMENT)
                .device(1)
                .device(2)
                .write();
        node.gpus.process(0, member.pid(), "100");
        service = node.startService();
        serviceClient = new ServiceClient(service);
        otherClient = serviceClient;
        lockUser = new BackgroundLoop(() -> {
            useLock();
            LockSupport.parkNanos(LOCK_PAUSE.toNanos());
        });
    }

    Path lock() {
        return state.resolve("genv.lock");
    }

    Node.Service service() {
        return service;
    }

    boolean isServiceStopped() throws IOException {
        var stat = Files.readString(
                Path.of("/proc", Long.toString(service.process().pid()), "stat"));
        return stat.substring(stat.lastIndexOf(')')).startsWith(") T");
    }

    private synchronized void pauseLock(boolean isPaused) {
        isLockPaused = isPaused;
    }

    private synchronized void useLock() {
        if (isLockPaused) {
            return;
        }
        try (var _ = RealFlock.take(lock())) {
            timesTaken.incrementAndGet();
        } catch (IOException e) {
            // There is no lock without the state directory.
        }
    }

    /** Runs work until {@link #stopHelper}. */
    void setHelper(Closeable running) {
        helper = running;
    }

    void stopHelper() throws IOException {
        helper.close();
        helper = NO_HELPER;
    }

    /** Until the end of the fault, the problems are those of this other service. */
    void setOtherService(Node.Service other) throws IOException {
        otherClient = new ServiceClient(other);
    }

    /** Injects the fault, records its effects, removes it, and waits until the service has recovered. */
    Outcome runFault(Fault fault) throws Exception {
        pauseLock(fault.affectsLock);
        serviceClient.awaitHealthy();
        var logged = service.outputLines().size();
        var taken = timesTaken.get();
        fault.inject.run(this);
        var reported = new TreeSet<String>();
        if (!isServiceStopped()) {
            // The current observation may have begun before.
            reported.addAll(otherClient.awaitNext(otherClient.observe()).problems());
        }
        try (var stray = fault.starter.start()) {
            var outcome = runAndUndo(fault, stray, reported);
            otherClient = serviceClient;
            // The next observation may have begun before.
            serviceClient.awaitNext(serviceClient.awaitNext(serviceClient.observe()));
            serviceClient.awaitHealthy();
            stray.awaitExit();
            assertThat(service.process().isAlive()).as("the service lives").isTrue();
            assertThat(serviceClient.status("/q/health/live")).as("liveness").isEqualTo(200);
            assertThat(member.isAlive()).as("the well-behaved job lives").isTrue();
            if (!fault.affectsLock) {
                await("another gets the lock").until(() -> timesTaken.get() > taken);
            }
            assertThat(service.outputLines().stream().skip(logged))
                    .as("the log")
                    .anyMatch(line -> line.contains("pid=%d ".formatted(stray.pid())))
                    .noneMatch(line -> line.contains("action=") && line.contains("pid=%d ".formatted(member.pid())));
            return outcome;
        }
    }

    private Outcome runAndUndo(Fault fault, Child stray, Set<String> reported) throws Exception {
        try {
            var before = stateFiles();
            node.gpus.process(1, stray.pid(), "10");
            var outcome = awaitOutcome(fault, stray, reported);
            if (helper.equals(NO_HELPER)) {
                assertThat(stateFiles()).as("the service has written nothing").isEqualTo(before);
            }
            return outcome;
        } finally {
            fault.undo.run(this);
        }
    }

    private Outcome awaitOutcome(Fault fault, Child stray, Set<String> reported) throws Exception {
        if (isServiceStopped()) {
            await().during(OBSERVATION_TIME).until(stray::isAlive);
            return new Outcome(fault, true, Set.of(), "no answer");
        }
        var observation = otherClient.observe();
        var deadline = System.nanoTime() + HANG.toNanos();
        // The first observation may have begun before the fault, so wait for two.
        for (var observations = 0; observations < 2 || !isAsExpected(fault, stray, reported); observations++) {
            assertThat(System.nanoTime())
                    .as("%s: the stray process is %s, told was %s", fault, stray.isAlive() ? "alive" : "gone", reported)
                    .isLessThan(deadline);
            observation = otherClient.awaitNext(observation);
            reported.addAll(observation.problems());
        }
        reported.removeIf(code -> TIME_LIMIT_CODES.contains(code) && !fault.reported.contains(code));
        reported.removeAll(fault.possiblyReported);
        assertThat(reported).isEqualTo(fault.reported);
        var live = serviceClient.status("/q/health/live") == 200;
        var ready = serviceClient.status("/q/health/ready") == 200;
        return new Outcome(fault, stray.isAlive(), reported, !live ? "not alive" : ready ? "ready" : "not ready");
    }

    private boolean isAsExpected(Fault fault, Child stray, Set<String> reported) throws IOException {
        return reported.containsAll(fault.reported)
                && (!fault.failsLiveness || serviceClient.status("/q/health/live") == 503)
                && stray.isAlive() == fault.preventsTermination
                && service.outputLines().stream().anyMatch(line -> line.contains(fault.logText));
    }

    /** The content of each state file; a link is not followed. */
    private Map<String, Object> stateFiles() throws IOException {
        var files = new TreeMap<String, Object>();
        for (var name : Set.of("envs.json", "devices.json")) {
            var file = state.resolve(name);
            if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                files.put(name, Files.readString(file, StandardCharsets.ISO_8859_1));
            } else if (Files.isSymbolicLink(file)) {
                files.put(name, Files.readSymbolicLink(file));
            }
        }
        return files;
    }

    @Override
    public void close() throws IOException {
        try {
            stopHelper();
        } finally {
            lockUser.close();
            member.close();
            shell.close();
        }
    }

    /** A thread that repeats the same work as fast as possible. */
    static final class BackgroundLoop implements Closeable {
        private final Thread thread;
        private volatile boolean closed;
        private volatile IOException failure;

        /** The repeated work. */
        public interface Work {
            void run() throws IOException;
        }

        public BackgroundLoop(Work work) {
            thread = Thread.ofPlatform().daemon().start(() -> {
                while (!closed) {
                    try {
                        work.run();
                    } catch (IOException e) {
                        failure = e;
                        return;
                    }
                }
            });
        }

        /** Stops the thread, and throws what the work threw. */
        @Override
        public void close() throws IOException {
            closed = true;
            await().until(() -> !thread.isAlive());
            if (failure != null) {
                throw failure;
            }
        }
    }
}
