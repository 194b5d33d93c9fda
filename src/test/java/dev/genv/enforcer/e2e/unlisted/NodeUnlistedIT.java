package dev.genv.enforcer.e2e.unlisted;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.nio.file.Path;

/** On the node itself. */
class NodeUnlistedIT extends UnlistedHolderSuite {
    private Node node;

    @Override
    Machine start(Path folder, Path driver) throws IOException {
        node = new Node(folder)
                .launchWith(
                        "unshare",
                        "--mount",
                        "sh",
                        "-c",
                        "mount --bind %1$s/devices /proc/devices && mount --bind %1$s/driver /proc/driver && exec \"$@\""
                                .formatted(driver),
                        "sh");
        return new Machine(node, node.gpus, node.state, node.stateDirectory);
    }

    @Override
    void stop() {
        if (node != null) {
            node.close();
        }
    }
}
