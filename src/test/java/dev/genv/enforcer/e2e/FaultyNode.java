package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Child;
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

/**
 * A node with a service that enforces, somebody who uses genv's lock, and one well-behaved job: its environment is alive,
 * its device is attached, and it uses no more than its capacity. It must come through every fault.
 */
final class FaultyNode implements Closeable {
    static final String OWN = "own";
    private static final Closeable NOBODY = () -> {};
    static final int GPUS = 3;
    private static final Duration PATIENCE = HANG;
    private static final Duration A_WHILE = Duration.ofMillis(2500);
    /** The one under way when the fault is over, and the two whole ones in which it must be well again. */
    private static final int LOOKS_TO_RECOVER = 3;

    final Node node;
    final Path state;
    private final Child shell;
    private final Child member;
    private final Node.Service service;
    private final Face face;
    private final LockUser lockUser;
    private Face witness;
    private Closeable helper = NOBODY;

    /** What came of a fault, as it was seen from outside. */
    record Outcome(Fault fault, Fault.Stray stray, Set<String> told, String health) {}

    /** What is different on this node. */
    interface Preparation {
        void prepare(Node node) throws Exception;
    }

    /** On this node, which whoever made it closes. */
    FaultyNode(Node node, Preparation preparation) throws Exception {
        this.node = node;
        state = node.stateDirectory;
        node.gpus.gpus(GPUS);
        node.set("NON_ENV_PROCESSES", "enforce").set("LOCK_TIMEOUT", "2s");
        preparation.prepare(node);
        shell = Child.withEnvironment(Map.of());
        member = Child.inEnvironment(OWN);
        node.state
                .own(OWN, "8g", shell.pid())
                .device(0, OWN)
                .device(1)
                .device(2)
                .write();
        node.gpus.process(0, member.pid(), "100");
        service = node.serve();
        face = new Face(service);
        witness = face;
        lockUser = new LockUser(lock());
    }

    Path lock() {
        return state.resolve("genv.lock");
    }

    Path file(String name) {
        return state.resolve(name);
    }

    Node.Service service() {
        return service;
    }

    Child member() {
        return member;
    }

    /** Something that goes on until {@link #stopHelper}. */
    void helper(Closeable running) {
        helper = running;
    }

    void stopHelper() throws IOException {
        helper.close();
        helper = NOBODY;
    }

    /** From now on, until the fault is over, the problems are those that this other service tells. */
    void witness(Node.Service other) throws IOException {
        witness = new Face(other);
    }

    /** Makes it happen, looks what becomes of everybody, undoes it, and waits until all is well. */
    Outcome suffer(Fault fault) throws Exception {
        if (fault.onTheLock()) {
            lockUser.pause();
        } else {
            lockUser.goOn();
        }
        face.awaitGood();
        var logged = service.said().size();
        var taken = lockUser.timesTaken();
        fault.make().run(this);
        var told = new TreeSet<String>();
        if (!ServiceFaults.isStopped(service)) {
            // The look that was under way may have seen something of before.
            told.addAll(witness.after(witness.look()).problems());
        }
        try (var stray = fault.process().start()) {
            var outcome = undoneAfterwards(fault, stray, told);
            witness = face;
            awaitRecovery();
            stray.awaitEnd();
            assertUnharmed();
            if (!fault.onTheLock()) {
                await("another gets the lock").until(() -> lockUser.timesTaken() > taken);
            }
            assertThat(service.said().stream().skip(logged))
                    .as("the log")
                    .anyMatch(line -> line.contains("pid=%d ".formatted(stray.pid())))
                    .noneMatch(line -> line.contains("action=") && line.contains("pid=%d ".formatted(member.pid())));
            return outcome;
        }
    }

    private Outcome undoneAfterwards(Fault fault, Child stray, Set<String> told) throws Exception {
        try {
            var before = stateFiles();
            node.gpus.process(1, stray.pid(), "10");
            var outcome = whileItLasts(fault, stray, told);
            if (helper.equals(NOBODY)) {
                assertThat(stateFiles()).as("the service has written nothing").isEqualTo(before);
            }
            return outcome;
        } finally {
            fault.undo().run(this);
        }
    }

    private Outcome whileItLasts(Fault fault, Child stray, Set<String> told) throws Exception {
        if (ServiceFaults.isStopped(service)) {
            await().during(A_WHILE).until(stray::isAlive);
            return new Outcome(fault, Fault.Stray.SPARED, Set.of(), "no answer");
        }
        var looks = 0;
        var look = witness.look();
        var deadline = System.nanoTime() + PATIENCE.toNanos();
        // The look that was under way at first may not have seen it: there are two at least.
        while (looks < 2 || !isAsExpected(fault, stray, told)) {
            assertThat(System.nanoTime())
                    .as("%s: the stray process is %s, told was %s", fault, stray.isAlive() ? "alive" : "gone", told)
                    .isLessThan(deadline);
            look = witness.after(look);
            looks++;
            told.addAll(look.problems());
        }
        assertThat(told).isSubsetOf(union(fault.told(), fault.perhaps()));
        var live = face.status("/q/health/live") == 200;
        assertThat(live).as("liveness").isEqualTo(!fault.mortal());
        return new Outcome(
                fault,
                stray.isAlive() ? Fault.Stray.SPARED : Fault.Stray.ENDED,
                told,
                !live ? "not alive" : face.status("/q/health/ready") == 200 ? "ready" : "not ready");
    }

    private boolean isAsExpected(Fault fault, Child stray, Set<String> told) throws IOException {
        return told.containsAll(fault.told())
                && (!fault.mortal() || face.status("/q/health/live") == 503)
                && stray.isAlive() == (fault.stray() == Fault.Stray.SPARED)
                && service.said().stream().anyMatch(line -> line.contains(fault.toldInLog()));
    }

    private void awaitRecovery() throws IOException {
        var look = face.look();
        // What was good before is no sign of anything, and the next look may have begun before too.
        var least = look.isGood() ? 2 : 1;
        for (var looks = 0; looks < least || !look.isGood(); looks++) {
            assertThat(looks).as("looks until it is well again: %s", look).isLessThan(LOOKS_TO_RECOVER);
            look = face.after(look);
        }
    }

    private void assertUnharmed() throws IOException {
        assertThat(service.process().isAlive()).as("the service lives").isTrue();
        assertThat(face.status("/q/health/live")).as("liveness").isEqualTo(200);
        assertThat(member.isAlive()).as("the well-behaved job lives").isTrue();
    }

    private static Set<String> union(Set<String> one, Set<String> other) {
        var union = new TreeSet<>(one);
        union.addAll(other);
        return union;
    }

    /** What stands in the place of each state file: a link is itself. */
    private Map<String, Object> stateFiles() throws IOException {
        var files = new TreeMap<String, Object>();
        for (var name : Set.of("envs.json", "devices.json")) {
            var file = file(name);
            if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                files.put(
                        name,
                        Files.readString(file, StandardCharsets.ISO_8859_1).hashCode());
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
}
