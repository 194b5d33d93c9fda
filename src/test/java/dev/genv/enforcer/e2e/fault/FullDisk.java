package dev.genv.enforcer.e2e.fault;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.TestUsers;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A state directory on a disk of a few pages, which only root can mount, and a user with a quota of 0: the service must detach while there is no space for a new file.
 */
final class FullDisk implements AutoCloseable {
    private static final String HEAVY_USER = "greedy";
    private static final byte[] PAGE = new byte[4096];

    private Child shell;
    private Path mounted;

    void prepare(Node node) throws IOException {
        Requirements.root();
        shell = Child.ofUser(TestUsers.ATTACKER_UID);
        Command.run("mount", "-t", "tmpfs", "-o", "size=128k,mode=0777", "genv-test", node.stateDirectory.toString());
        mounted = node.stateDirectory;
        node.set("MAX_DEVICES_FOR_USER", HEAVY_USER + "=0").set("GRACE", "1s");
    }

    Fault fault() {
        return Fault.harmless("the disk is full when an attachment must be detached", this::fill, this::free)
                .withLogText("outcome=failed");
    }

    private void fill(FaultyNode node) throws IOException {
        var files = node.node
                .state
                .env(HEAVY_USER, TestUsers.ATTACKER_UID, HEAVY_USER, null, shell.pid())
                .device(2, HEAVY_USER);
        try (var _ = RealFlock.take(node.lock())) {
            Files.writeString(node.file("envs.json"), files.envsJson());
            Files.writeString(node.file("devices.json"), files.devicesJson());
            fillRemainingSpace();
        }
    }

    private void fillRemainingSpace() throws IOException {
        try (var file = Files.newOutputStream(filler())) {
            while (true) {
                file.write(PAGE);
            }
        } catch (IOException e) {
            if (!Files.exists(filler())) {
                throw e;
            }
        }
    }

    private void free(FaultyNode node) throws IOException {
        Files.delete(filler());
        var detached = node.node.state.device(2).devicesJson();
        await().until(() -> Files.readString(node.file("devices.json")).equals(detached));
    }

    private Path filler() {
        return mounted.resolve("filler");
    }

    @Override
    public void close() throws IOException {
        if (shell != null) {
            shell.close();
        }
        if (mounted != null) {
            Command.run("umount", mounted.toString());
        }
    }
}
