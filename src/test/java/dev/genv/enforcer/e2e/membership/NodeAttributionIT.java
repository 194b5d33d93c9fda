package dev.genv.enforcer.e2e.membership;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.nio.file.Path;

/** On the node itself. */
class NodeAttributionIT extends AttributionSuite {
    @Override
    Machine start(Path folder) throws IOException {
        var node = new Node(folder);
        node.gpus.gpus(3);
        return new Machine(node, node.gpus, node.state, node.stateDirectory, node::close);
    }
}
