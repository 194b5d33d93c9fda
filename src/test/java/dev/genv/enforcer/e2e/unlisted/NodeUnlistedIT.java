package dev.genv.enforcer.e2e.unlisted;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** On the node itself. */
class NodeUnlistedIT extends UnlistedHolderSuite {
    private Node node;
    private Path mounts;

    @Override
    Machine start(Path folder, Path driver) throws IOException {
        mounts = Files.createFile(driver.resolve("mounts"));
        mount(driver.resolve("devices"), Path.of("/proc/devices"));
        mount(driver.resolve("driver"), Path.of("/proc/driver"));
        node = new Node(folder)
                .launchWith("unshare", "--mount", "sh", "-c", ". %s && exec \"$@\"".formatted(mounts), "sh");
        return new Machine(node, node.gpus, node.state, node.stateDirectory);
    }

    @Override
    void mount(Path source, Path target) throws IOException {
        Files.writeString(
                mounts, "mount --bind %s %s || exit 1\n".formatted(source, target), StandardOpenOption.APPEND);
    }

    @Override
    void stop() {
        if (node != null) {
            node.close();
        }
    }
}
