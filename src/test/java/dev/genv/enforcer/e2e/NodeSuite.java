package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has its own node, which is removed at the end of the test. */
public abstract class NodeSuite {
    @TempDir
    Path directory;

    public Node node;

    @BeforeEach
    void makeNode() throws IOException {
        node = new Node(directory);
        node.gpus.gpus(3);
    }

    @AfterEach
    void closeNode() {
        node.close();
    }
}
