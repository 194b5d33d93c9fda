package dev.genv.enforcer.e2e.workload;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import java.nio.file.Path;

/** On the node itself. */
class NodeWorkloadIT extends WorkloadSuite {
    private Node node;

    @Override
    Machine start(Path folder) throws IOException {
        node = new Node(folder);
        node.gpus.gpus(3);
        return new Machine(node, node.gpus, node.state, node.stateDirectory);
    }

    @Override
    void stop() {
        if (node != null) {
            node.close();
        }
    }
}
