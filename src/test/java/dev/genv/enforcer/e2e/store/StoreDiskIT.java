package dev.genv.enforcer.e2e.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThatCode;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The disk of the database is full or hangs: the service reports it, enforces, and uses the database again afterwards. */
@Tag("long")
class StoreDiskIT extends NodeSuite {
    private Path data;

    @BeforeEach
    void mountDisk() throws IOException {
        Requirements.root();
        data = Files.createDirectory(directory.resolve("data"));
        Command.run("mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "genv-test", data.toString());
        node.state.write();
        node.set("DATA_DIR", data)
                .set("NON_ENV_PROCESSES", "enforce")
                .set("GRACE", "0s")
                .set("KILL_AFTER", "10h");
    }

    @AfterEach
    void unmountDisk() throws IOException {
        node.close();
        if (Files.exists(directory.resolve("data"))) { // the requirement may be missing
            Command.run("umount", directory.resolve("data").toString());
        }
    }

    @Test
    void aFullDiskCostsTheDatabaseAndNothingElse() throws IOException {
        try (var first = SignalCounter.start(directory.resolve("first"));
                var second = SignalCounter.start(directory.resolve("second"))) {
            node.gpus.process(0, first.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> first.count() == 1);
            Command.fillDisk(data.resolve("filler"));
            await().until(() -> client.observe().problems().contains("data_unwritable"));
            node.gpus.process(1, second.pid(), "100");
            await().until(() -> second.count() == 1);
            Files.delete(data.resolve("filler"));
            assertContinuesAfterKill(service, first, second);
        }
    }

    /** A frozen file system answers no write. */
    @Test
    void aHangingDiskCostsTheDatabaseAndNothingElse() throws IOException {
        var image = directory.resolve("image");
        var disk = Files.createDirectory(directory.resolve("disk"));
        Command.run("truncate", "-s", "20M", image.toString());
        Command.run("mkfs.ext4", "-q", image.toString());
        assumeThatCode(() -> Command.run("mount", "-o", "loop", image.toString(), disk.toString()))
                .as("a file system in a file can be mounted")
                .doesNotThrowAnyException();
        try (var first = SignalCounter.start(directory.resolve("first"));
                var second = SignalCounter.start(directory.resolve("second"))) {
            var folder = disk.resolve("data");
            Command.run("mkdir", "-m", "700", folder.toString());
            node.set("DATA_DIR", folder);
            node.setStoreLimit(Duration.ofSeconds(2));
            node.gpus.process(0, first.pid(), "100");
            var service = node.startService();
            var client = new ServiceClient(service);
            await().until(() -> first.count() == 1);
            client.awaitNext(client.observe());
            Command.run("fsfreeze", "-f", disk.toString());
            try {
                node.gpus.process(1, second.pid(), "100");
                await().until(() -> second.count() == 1);
                await().until(() -> client.observe().problems().contains("data_unwritable"));
            } finally {
                Command.run("fsfreeze", "-u", disk.toString());
            }
            assertContinuesAfterKill(service, first, second);
        } finally {
            node.close();
            Command.run("umount", disk.toString());
        }
    }

    /** Waits until the database is used again. Then nothing is lost by a kill, and nothing is done twice. */
    private void assertContinuesAfterKill(Node.Service service, SignalCounter... victims) throws IOException {
        var client = new ServiceClient(service);
        await().until(() -> client.observe().problems().isEmpty());
        client.awaitNext(client.observe());
        var before = client.json("/violations").findValuesAsText("id");
        assertThat(before).hasSameSizeAs(victims);
        service.kill();
        var next = new ServiceClient(node.startService());
        assertThat(next.json("/violations").findValuesAsText("id")).isEqualTo(before);
        next.awaitNext(next.awaitNext(next.observe()));
        for (var victim : victims) {
            assertThat(victim.count()).isEqualTo(1);
        }
    }
}
