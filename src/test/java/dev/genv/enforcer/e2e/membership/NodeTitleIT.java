package dev.genv.enforcer.e2e.membership;

import dev.genv.enforcer.e2e.TestMachine;
import java.io.IOException;
import java.nio.file.Path;

/** On the node itself. */
class NodeTitleIT extends TitledJobSuite {
    @Override
    TestMachine start(Path folder) throws IOException {
        return TestMachine.ofNode(folder);
    }
}
