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
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The packaged service with a journal and the heap of the image, while a user replaces a large state in every cycle. It stays below the
 * memory limit of the chart, also when it reads its journal, and the journal keeps its size.
 */
class JournalMemoryIT extends NodeSuite {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final int ENVIRONMENTS = 12_000;
    private static final int CYCLES = 4;
    private static final long MAX_BYTES = 64 << 20;

    @Test
    void manyEnvironmentsThatAreReplacedInEachCycle() throws Exception {
        Requirements.root();
        var journal = Files.createDirectory(
                directory.resolve("journal"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        try (var shell = Child.ofUser(TestUsers.ATTACKER_UID)) {
            write(0, shell);
            node.set("JOURNAL_DIR", journal).set("MODE", "audit");
            var service = node.startService();
            for (var cycle = 1; cycle <= CYCLES; cycle++) {
                awaitEnvironments(new ServiceClient(service));
                write(cycle, shell);
            }
            check(service, journal);
            service.kill();
            service = node.startService();
            awaitEnvironments(new ServiceClient(service));
            check(service, journal);
        }
    }

    /** Waits for a whole cycle after the present state was written, and for its end in the journal. */
    private static void awaitEnvironments(ServiceClient client) throws IOException {
        await().atMost(TIMEOUT).ignoreExceptions().until(() -> {
            client.awaitNext(client.observe());
            client.awaitNext(client.observe());
            return client.json("/hosts").path(0).path("environments").asInt() == ENVIRONMENTS;
        });
    }

    private static void check(Node.Service service, Path journal) throws IOException {
        assertThat(service.process().isAlive()).as("%s", service.outputLines()).isTrue();
        assertThat(new ServiceClient(service).observe().problems()).isEmpty();
        assertThat(service.peakMemory()).as("resident MiB").isLessThan(Node.memoryLimit());
        System.out.printf("JournalMemoryIT: %d MiB resident%n", service.peakMemory());
        try (var files = Files.list(journal)) {
            assertThat(files.mapToLong(file -> file.toFile().length()).sum()).isLessThan(MAX_BYTES);
        }
    }

    private void write(int cycle, Child shell) throws IOException {
        var eids = IntStream.range(0, ENVIRONMENTS)
                .mapToObj(number -> "%d-%d".formatted(cycle, number))
                .toArray(String[]::new);
        for (var eid : eids) {
            node.state.env(eid, TestUsers.ATTACKER_UID, "attacker", null, shell.pid());
        }
        node.state.device(0).device(1, eids).device(2).write();
        for (var eid : eids) {
            node.state.withoutEnv(eid);
        }
    }
}
