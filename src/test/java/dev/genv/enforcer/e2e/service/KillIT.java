package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.SignalCounter;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The service is killed with SIGKILL at any moment: around a detachment, the file is the complete old or new one; around a SIGTERM, the next
 * run knows the termination and sends no second one.
 */
@Tag("long")
class KillIT extends NodeSuite {
    private static final String HEAVY_USER = "greedy";
    private static final String LIGHT_USER = "modest";
    private static final long CYCLE_NANOS = Duration.ofMillis(1200).toNanos();
    private static final long ACTING_NANOS = Duration.ofMillis(4).toNanos();
    private static final long PAUSE_NANOS = 50_000;
    /** Attachments of inactive environments, which make the file large, so that writing it takes a while. */
    private static final int DEAD_ENVIRONMENTS = 3_000;

    private final long seed = Long.getLong("kill.seed", System.nanoTime());
    private final Random random = new Random(seed);

    @Test
    void killLeavesACompleteStateFileAndNoTempFile() throws IOException {
        Requirements.root();
        var rounds = repetitions(20, 200);
        var old = 0;
        var left = 0;
        try (var honestUser = Child.ofUser(TestUsers.HONEST_UID);
                var attacker = Child.ofUser(TestUsers.ATTACKER_UID)) {
            node.state
                    .env(LIGHT_USER, TestUsers.HONEST_UID, LIGHT_USER, null, honestUser.pid())
                    .env(HEAVY_USER, TestUsers.ATTACKER_UID, HEAVY_USER, null, attacker.pid());
            node.set("MAX_DEVICES_FOR_USER", HEAVY_USER + "=0").set("GRACE", "0s");
            var after = devices(LIGHT_USER);
            var before = devices(HEAVY_USER, LIGHT_USER);
            node.state.write();
            for (var round = 0; round < rounds; round++) {
                killDuringADetachment(before);
                var now = Files.readString(node.devicesJson());
                assertThat(now.equals(before) || now.equals(after))
                        .as("round %d of seed %d: the file is the old one or the new one", round, seed)
                        .isTrue();
                old += now.equals(before) ? 1 : 0;
                left += tempFiles().size();
                assertThat(Files.readString(node.stateDirectory.resolve("envs.json")))
                        .isEqualTo(node.state.envsJson());
            }
            var service = startAndAwaitFirstCycle();
            await().until(() -> Files.readString(node.devicesJson()).equals(after));
            service.stop();
            assertThat(tempFiles()).isEmpty();
        }
        System.out.printf(
                "KillIT: %d rounds of seed %d; the old file was there %d times, a temporary one %d times%n",
                rounds, seed, old, left);
    }

    @Test
    void killLosesNoTerminationAndLeadsToNoSecondSigterm() throws IOException {
        var rounds = repetitions(20, 200);
        var signalled = 0;
        var unknown = 0;
        node.addDatabase();
        node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "0s").set("KILL_AFTER", "24h");
        for (var round = 0; round < rounds; round++) {
            try (var process = SignalCounter.start(directory.resolve("signals-" + round))) {
                var service = startAndAwaitFirstCycle();
                node.gpus.process(0, process.pid(), "10");
                awaitRandomInstant(() -> process.count() > 0);
                service.kill();

                signalled += process.count();
                var next = startAndAwaitFirstCycle();
                if (new ServiceClient(next).awaitNextSignal(process.pid()).equals("kill_after")) {
                    await().until(() -> process.count() > 0);
                } else {
                    unknown++;
                }
                assertThat(process.count())
                        .as("round %d of seed %d", round, seed)
                        .isLessThanOrEqualTo(1);
                next.kill();
            }
            node.gpus.noProcesses();
        }
        System.out.printf(
                "KillIT: %d rounds of seed %d; SIGTERM came before the kill %d times, and it was unknown to the next run %d times%n",
                rounds, seed, signalled, unknown);
    }

    private void killDuringADetachment(String before) throws IOException {
        var service = startAndAwaitFirstCycle();
        assertThat(tempFiles()).as("after the first cycle").isEmpty();
        try (var _ = RealFlock.take(node.stateDirectory.resolve("genv.lock"))) {
            Files.writeString(node.devicesJson(), before); // in place, as genv does
        }
        awaitRandomInstant(() -> !tempFiles().isEmpty());
        service.kill();
    }

    private Node.Service startAndAwaitFirstCycle() throws IOException {
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        await().pollInterval(Duration.ofMillis(20)).until(() -> serviceClient.status("/q/health/started") == 200);
        return service;
    }

    private interface Condition {
        boolean isTrue() throws IOException;
    }

    /** Any time of a cycle, or a time shortly after the act began. */
    private void awaitRandomInstant(Condition hasBegun) throws IOException {
        var now = System.nanoTime();
        var end = now + random.nextLong(CYCLE_NANOS);
        if (random.nextInt(4) > 0) {
            end = now + CYCLE_NANOS;
            while (System.nanoTime() < end && !hasBegun.isTrue()) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            end = System.nanoTime() + random.nextLong(ACTING_NANOS);
        }
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private List<String> tempFiles() throws IOException {
        try (var files = Files.list(node.stateDirectory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(".devices.json.genv-enforcer-"))
                    .toList();
        }
    }

    private String devices(String... attached) {
        var dead = new String[DEAD_ENVIRONMENTS];
        for (var i = 0; i < DEAD_ENVIRONMENTS; i++) {
            dead[i] = "dead-" + i;
        }
        return node.state.device(0, attached).device(1).device(2, dead).devicesJson();
    }
}
