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
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The disk of the journal is full or read-only, or its files are lost: the service reports it, enforces, and uses the journal again afterwards. */
@Tag("long")
class JournalDiskIT extends NodeSuite {
    private static final byte[] PAGE = new byte[4096];

    private Path journal;

    @BeforeEach
    void mountDisk() throws IOException {
        Requirements.root();
        journal = Files.createDirectory(directory.resolve("journal"));
        Command.run("mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "genv-test", journal.toString());
        node.state.write();
        node.set("DATA_DIR", journal)
                .set("NON_ENV_PROCESSES", "enforce")
                .set("GRACE", "0s")
                .set("KILL_AFTER", "10h");
    }

    @AfterEach
    void unmountDisk() throws IOException {
        node.close();
        if (Files.exists(directory.resolve("journal"))) { // the requirement may be missing
            Command.run("umount", directory.resolve("journal").toString());
        }
    }

    @Test
    void aReadOnlyDiskCostsTheJournalAndNothingElse() throws IOException {
        Command.run("mount", "-o", "remount,ro", journal.toString());
        try (var victim = SignalCounter.start(directory.resolve("victim"))) {
            node.gpus.process(0, victim.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> victim.count() == 1);
            await().until(() -> client.observe().problems().contains("journal_unwritable"));
            Command.run("mount", "-o", "remount,rw", journal.toString());
            client.awaitNext(client.observe());
            assertThat(client.observe().problems()).as("until a restart").contains("journal_unwritable");
            service.kill();
            var next = new ServiceClient(node.startService());
            next.awaitObservation();
            await().until(() -> next.observe().problems().isEmpty());
        }
    }

    @Test
    void aFullDiskCostsTheJournalAndNothingElse() throws IOException {
        try (var first = SignalCounter.start(directory.resolve("first"));
                var second = SignalCounter.start(directory.resolve("second"))) {
            node.gpus.process(0, first.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> first.count() == 1);
            fill();
            await().until(() -> client.observe().problems().contains("journal_unwritable"));
            node.gpus.process(1, second.pid(), "100");
            await().until(() -> second.count() == 1);
            Files.delete(journal.resolve("filler"));
            await().until(() -> client.observe().problems().isEmpty());
            client.awaitNext(client.observe());
            var before = client.json("/violations").findValuesAsText("id");
            assertThat(before).hasSize(2);
            service.kill();
            assertContinues(before, first, second);
        }
    }

    @ParameterizedTest
    @CsvSource({"rm $J/*, true", "rm -r $J, mkdir -m 700 $J", "mv $J $J.old && mkdir -m 700 $J, true"})
    void filesThatAreLostWhileTheServiceRunsCostWhatTheyHadAndNothingElse(String loss, String remedy)
            throws IOException {
        var folder = journal.resolve("folder");
        Command.run("mkdir", "-m", "700", folder.toString());
        node.set("DATA_DIR", folder);
        try (var victim = SignalCounter.start(directory.resolve("victim"))) {
            node.gpus.process(0, victim.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> victim.count() == 1);
            client.awaitNext(client.observe()); // its result is written too
            var before = client.json("/violations").findValuesAsText("id");
            Command.run("sh", "-c", loss.replace("$J", folder.toString()));
            await().until(() -> service.outputLines().stream().anyMatch(line -> line.contains("journal_unwritable")));
            Command.run("sh", "-c", remedy.replace("$J", folder.toString()));
            await().until(() -> client.observe().problems().isEmpty());
            client.awaitNext(client.observe());
            service.kill();
            assertContinues(before, victim);
        }
    }

    private void assertContinues(List<String> violations, SignalCounter... victims) throws IOException {
        var client = new ServiceClient(node.startService());
        assertThat(client.json("/violations").findValuesAsText("id")).isEqualTo(violations);
        client.awaitNext(client.observe());
        client.awaitNext(client.observe());
        for (var victim : victims) {
            assertThat(victim.count()).isEqualTo(1);
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
