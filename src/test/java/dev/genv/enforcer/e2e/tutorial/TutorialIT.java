package dev.genv.enforcer.e2e.tutorial;

import dev.genv.enforcer.e2e.Node;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The tutorial on the program's own node. */
class TutorialIT extends Tutorial {
    @BeforeEach
    void makeNode() throws IOException {
        node = new Node(directory);
        state = node.state;
        gpus = node.gpus.gpus(3);
        devicesJson = node.devicesJson();
    }

    @AfterEach
    void closeNode() {
        node.close();
    }
}
