package dev.genv.enforcer.e2e.workload;

import dev.genv.enforcer.e2e.TestMachine;
import java.io.IOException;
import java.nio.file.Path;

/** On the node itself. */
class NodeWorkloadIT extends WorkloadSuite {
    @Override
    TestMachine start(Path folder) throws IOException {
        return TestMachine.ofNode(folder);
    }
}
