package dev.genv.enforcer.e2e.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThatCode;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.e2e.Node.Service;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.SignalCounter;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The service is killed with SIGKILL at random instants, and started again. What a client has seen is still there, and no process gets
 * a second SIGTERM. In every second round the instant is after an answer that lists the newest process, in the others it may be before
 * any answer. Before each kill the service is stopped for a moment, and the copy of its database that is made then opens and is consistent.
 */
@Tag("long")
class StoreIT extends NodeSuite {
    private static final String VIOLATIONS = "/violations?limit=1000";
    private static final String UNCERTAIN = "it may have been executed";
    private static final long LONGEST_START_NANOS = Duration.ofMillis(4_500).toNanos();
    private static final long LONGEST_RUN_NANOS = Duration.ofMillis(2_500).toNanos();
    private static final int MOST_VICTIMS = 8;

    private final long seed = Long.getLong("kill.seed", System.nanoTime());
    private final Random random = new Random(seed);
    private final Deque<SignalCounter> victims = new ArrayDeque<>();
    /** What a client has seen, by the id of the violation. */
    private final Map<String, Seen> seen = new LinkedHashMap<>();

    private int started;
    private Path data;

    private record Seen(int pid, String firstSeen, List<JsonNode> actions) {}

    @BeforeEach
    void setUp() throws IOException {
        node.state.write();
        data = node.addDatabase();
        node.set("NON_ENV_PROCESSES", "enforce").set("GRACE", "2s").set("KILL_AFTER", "10h");
    }

    @AfterEach
    void endVictims() {
        victims.forEach(SignalCounter::close);
    }

    @Test
    void nothingThatWasSeenIsLostAndNothingIsDoneTwice() throws IOException {
        var rounds = repetitions(20, 200);
        for (var round = 0; round < rounds; round++) {
            if (round % 2 == 0) {
                addVictim();
                killAfterAnAnswer();
            } else {
                killDuringTheStart();
            }
            for (var victim : victims) {
                assertThat(victim.count())
                        .as("SIGTERMs of pid %d in round %d of seed %d", victim.pid(), round, seed)
                        .isLessThanOrEqualTo(1);
            }
        }
        var service = node.startService();
        var client = new ServiceClient(service);
        for (var victim : victims) {
            await().pollInterval(Duration.ofMillis(100))
                    .until(() -> victim.count() == 1 || isUncertain(client, victim.pid()));
        }
        assertSeenIsThere(client);
        service.stop();
        System.out.printf("StoreKillIT: %d rounds of seed %d; %d violations were seen%n", rounds, seed, seen.size());
    }

    private void killAfterAnAnswer() throws IOException {
        var service = node.startService();
        var client = new ServiceClient(service);
        assertSeenIsThere(client);
        var newest = victims.getLast().pid();
        await().until(() -> {
            remember(client.json(VIOLATIONS));
            return seen.values().stream().anyMatch(violation -> violation.pid == newest);
        });
        var end = System.nanoTime() + random.nextLong(LONGEST_RUN_NANOS);
        while (System.nanoTime() < end) {
            pause();
            remember(client.json(VIOLATIONS));
        }
        assertCopyIsConsistent(service);
        service.kill();
    }

    private void killDuringTheStart() throws IOException {
        node.set("INTERVAL", "1s");
        var service = node.start();
        LockSupport.parkNanos(random.nextLong(LONGEST_START_NANOS));
        assertCopyIsConsistent(service);
        service.kill();
    }

    /** The copy has everything that a client has seen. */
    private void assertCopyIsConsistent(Service service) throws IOException {
        var pid = Long.toString(service.process().pid());
        var copy = directory.resolve("copy");
        Programs.run("kill", "-STOP", pid);
        Programs.run("rm", "-rf", copy.toString());
        Programs.run("cp", "-a", data.toString(), copy.toString());
        Programs.run("kill", "-CONT", pid);
        try (var connection = DriverManager.getConnection("jdbc:sqlite:" + copy.resolve("enforcer.db"));
                var statement = connection.createStatement()) {
            try (var check = statement.executeQuery("PRAGMA integrity_check")) {
                check.next();
                assertThat(check.getString(1)).as("seed %d", seed).isEqualTo("ok");
            }
            if (!seen.isEmpty()) {
                try (var ids = statement.executeQuery("SELECT json_group_array(id) FROM violation")) {
                    ids.next();
                    assertThat(ids.getString(1)).as("seed %d", seed).contains(seen.keySet());
                }
            }
        } catch (SQLException e) {
            throw new IOException("seed " + seed, e);
        }
    }

    private void assertSeenIsThere(ServiceClient client) throws IOException {
        var now = byId(client.json(VIOLATIONS));
        seen.forEach((id, before) -> {
            assertThat(now).as("seed %d: pid %d", seed, before.pid).containsKey(id);
            assertThat(now.get(id).firstSeen).isEqualTo(before.firstSeen);
            assertThat(now.get(id).actions)
                    .as("actions on pid %d", before.pid)
                    .startsWith(before.actions.toArray(JsonNode[]::new));
        });
    }

    private void remember(JsonNode violations) {
        seen.putAll(byId(violations));
    }

    private static Map<String, Seen> byId(JsonNode violations) {
        var all = new LinkedHashMap<String, Seen>();
        for (var violation : violations) {
            var actions = new ArrayList<JsonNode>();
            violation.path("actions").forEach(actions::add);
            all.put(
                    violation.path("id").asText(),
                    new Seen(
                            violation.path("processes").path(0).path("pid").asInt(),
                            violation.path("first_seen").asText(),
                            actions));
        }
        return all;
    }

    private static boolean isUncertain(ServiceClient client, int pid) throws IOException {
        return byId(client.json(VIOLATIONS)).values().stream()
                .filter(violation -> violation.pid == pid)
                .flatMap(violation -> violation.actions.stream())
                .anyMatch(action -> action.path("detail").asText().contains(UNCERTAIN));
    }

    private void addVictim() throws IOException {
        if (victims.size() == MOST_VICTIMS) {
            victims.removeFirst().close();
        }
        var victim = SignalCounter.start(directory.resolve("signals-" + started++));
        victims.add(victim);
        node.gpus.process(0, victim.pid(), "100");
    }

    private static void pause() {
        LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }

    /** The service reports it, enforces, and uses the database again afterwards. */
    @Test
    void aFullDiskCostsTheDatabaseAndNothingElse() throws IOException {
        Requirements.root();
        Programs.run("mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "genv-test", data.toString());
        try {
            enforceWithout(() -> Programs.fillDisk(data.resolve("filler")), () -> Files.delete(data.resolve("filler")));
        } finally {
            node.close();
            Programs.run("umount", data.toString());
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private void enforceWithout(Step takeDisk, Step giveBack) throws IOException {
        addVictim();
        var service = node.startService();
        var client = new ServiceClient(service);
        await().until(() -> victims.getLast().count() == 1);
        client.awaitNext(client.observe());
        takeDisk.run();
        try {
            addVictim();
            await().until(() -> victims.getLast().count() == 1);
            await().until(() -> client.observe().problems().contains("data_unwritable"));
        } finally {
            giveBack.run();
        }
        assertContinuesAfterKill(service);
    }

    /** A frozen file system answers no write. */
    @Test
    void aHangingDiskCostsTheDatabaseAndNothingElse() throws IOException {
        Requirements.root();
        var image = directory.resolve("image").toString();
        var disk = Files.createDirectory(directory.resolve("disk"));
        Programs.run("truncate", "-s", "20M", image);
        Programs.run("mkfs.ext4", "-q", image);
        assumeThatCode(() -> Programs.run("mount", "-o", "loop", image, disk.toString()))
                .as("a file system in a file can be mounted")
                .doesNotThrowAnyException();
        try {
            Programs.run("mkdir", "-m", "700", disk.resolve("data").toString());
            node.set("DATA_DIR", disk.resolve("data")).setStoreLimit(Duration.ofSeconds(2));
            enforceWithout(
                    () -> Programs.run("fsfreeze", "-f", disk.toString()),
                    () -> Programs.run("fsfreeze", "-u", disk.toString()));
        } finally {
            node.close();
            Programs.run("umount", disk.toString());
        }
    }

    /** Waits until the database is used again. Then nothing is lost by a kill, and nothing is done twice. */
    private void assertContinuesAfterKill(Service service) throws IOException {
        var client = new ServiceClient(service);
        await().until(() -> client.observe().problems().isEmpty());
        client.awaitNext(client.observe());
        var before = client.json("/violations").findValuesAsText("id");
        assertThat(before).hasSameSizeAs(victims);
        service.kill();
        var next = new ServiceClient(node.startService());
        assertThat(next.json("/violations").findValuesAsText("id")).isEqualTo(before);
        next.awaitNext(next.awaitNext(next.observe()));
        assertThat(victims).allSatisfy(victim -> assertThat(victim.count()).isEqualTo(1));
    }
}
