package dev.genv.enforcer.e2e.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The packaged service with a database and the heap of the image, while a user replaces a large state in every cycle. It stays below the
 * memory limit of the chart, also when it reads its database, and the database keeps its size.
 */
@Tag("long")
class StoreMemoryIT extends NodeSuite {
    private static final int ENVIRONMENTS = 12_000;
    /** Each of them has a long name, and in every cycle a violation that is over in the next one. */
    private static final int USERS = 1_300;

    private static final String LONG_TEXT = "\u20ac" + "x".repeat(4_000);
    private static final int CYCLES = 4;
    private static final long MAX_BYTES = 256 << 20;

    private Path data;

    @BeforeEach
    void setUp() throws IOException {
        Requirements.root();
        data = Files.createDirectory(
                directory.resolve("data"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        node.set("DATA_DIR", data).set("MODE", "audit");
    }

    @Test
    void manyEnvironmentsThatAreReplacedInEachCycle() throws Exception {
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            runAndRestart(
                    ENVIRONMENTS,
                    cycle -> write(
                            IntStream.range(0, ENVIRONMENTS).mapToObj(number -> cycle + "-" + number), "", shell));
        }
    }

    @Test
    void manyViolationsThatAreReplacedInEachCycle() throws Exception {
        node.set("MAX_DEVICES_PER_USER", 1);
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            runAndRestart(
                    USERS,
                    cycle -> write(IntStream.range(0, USERS).mapToObj(user -> cycle + "-" + user), LONG_TEXT, shell));
        }
    }

    private interface StateWriter {
        void write(int cycle) throws IOException;
    }

    private void runAndRestart(int environments, StateWriter state) throws Exception {
        state.write(0);
        var service = node.startService();
        for (var cycle = 1; cycle <= CYCLES; cycle++) {
            awaitEnvironments(new ServiceClient(service), environments);
            state.write(cycle);
        }
        awaitEnvironments(new ServiceClient(service), environments);
        check(service);
        service.kill();
        service = node.startService();
        awaitEnvironments(new ServiceClient(service), environments);
        check(service);
    }

    /** Waits for a whole cycle after the present state was written, and for its end in the database. */
    private static void awaitEnvironments(ServiceClient client, int environments) throws IOException {
        await().ignoreExceptions()
                .until(() -> client.json("/hosts").path(0).path("environments").asInt() == environments);
        client.awaitNext(client.awaitNext(client.observe()));
    }

    private void check(Node.Service service) throws IOException {
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        assertThat(new ServiceClient(service).observe().problems()).noneMatch(code -> code.startsWith("data"));
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        System.out.printf("StoreMemoryIT: %d MiB resident%n", service.peakMemory());
        try (var files = Files.list(data)) {
            assertThat(files.mapToLong(file -> file.toFile().length()).sum()).isLessThan(MAX_BYTES);
        }
    }

    /** Environments of a user each, who is above the quota. */
    private void write(Stream<String> names, String text, Child shell) throws IOException {
        var eids = names.toArray(String[]::new);
        for (var eid : eids) {
            node.state.env(eid, TestUsers.ATTACKER_UID, eid + text, null, shell.pid());
        }
        node.state.device(0, eids).device(1, eids).device(2).write();
        for (var eid : eids) {
            node.state.withoutEnv(eid);
        }
    }
}
