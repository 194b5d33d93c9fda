package dev.genv.enforcer.e2e.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The disk of the journal is full or read-only: the service reports it, enforces, and uses the journal again afterwards. */
class JournalDiskIT extends NodeSuite {
    private static final byte[] PAGE = new byte[4096];

    private Path journal;

    @BeforeEach
    void mountDisk() throws IOException {
        Requirements.root();
        journal = Files.createDirectory(directory.resolve("journal"));
        Command.run("mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "genv-test", journal.toString());
        node.state.write();
        node.set("JOURNAL_DIR", journal)
                .set("NON_ENV_PROCESSES", "enforce")
                .set("STATE_CHANGE_GRACE", "0s")
                .set("KILL_AFTER", "10h");
    }

    @AfterEach
    void unmountDisk() throws IOException {
        node.close();
        Command.run("umount", journal.toString());
    }

    @Test
    void aFullDiskCostsTheJournalAndNothingElse() throws IOException {
        assertSurvives(this::fill, () -> Files.delete(journal.resolve("filler")));
    }

    @Test
    void aReadOnlyDiskCostsTheJournalAndNothingElse() throws IOException {
        assertSurvives(
                () -> Command.run("mount", "-o", "remount,ro", journal.toString()),
                () -> Command.run("mount", "-o", "remount,rw", journal.toString()));
    }

    private interface Step {
        void run() throws IOException;
    }

    private void assertSurvives(Step fault, Step repair) throws IOException {
        try (var first = SignalCounter.start(directory.resolve("first"));
                var second = SignalCounter.start(directory.resolve("second"))) {
            node.gpus.process(0, first.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> first.count() == 1);
            fault.run();
            await().until(() -> client.observe().problems().contains("journal_unwritable"));
            node.gpus.process(1, second.pid(), "100");
            await().until(() -> second.count() == 1);
            repair.run();
            await().until(() -> client.observe().problems().isEmpty());
            var before = client.json("/violations");
            assertThat(before).hasSize(2);
            client.awaitNext(client.observe());
            service.kill();

            var restarted = new ServiceClient(node.startService());
            restarted.awaitObservation();
            assertThat(restarted.json("/violations").findValuesAsText("id")).isEqualTo(before.findValuesAsText("id"));
            await().during(Duration.ofSeconds(3)).until(() -> first.count() == 1 && second.count() == 1);
        }
    }

    private void fill() throws IOException {
        var filler = journal.resolve("filler");
        try (var file = Files.newOutputStream(filler)) {
            while (true) {
                file.write(PAGE);
            }
        } catch (IOException e) {
            if (!Files.exists(filler)) {
                throw e;
            }
        }
    }
}
