package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has its own node, which is removed at the end of the test. */
public abstract class NodeSuite {
    /** The size of the suites: small in every build, large with {@code -Dsuite.long=true}. */
    public static final boolean IS_LONG = Boolean.getBoolean("suite.long");

    @TempDir
    public Path directory;

    public Node node;

    protected static int repetitions(int usually, int atLength) {
        return IS_LONG ? atLength : usually;
    }

    @BeforeEach
    void makeNode() throws IOException {
        node = new Node(directory);
        node.gpus.gpus(3);
    }

    @AfterEach
    void closeNode() {
        node.close();
    }

    /** Writes the state with environment a, which has device 0 and no capacity; devices 1 and 2 are free. */
    public void writeEnvironment(Child shell) throws IOException {
        writeEnvironment(shell, null);
    }

    /** The same with a memory capacity. */
    public void writeEnvironment(Child shell, @Nullable String capacity) throws IOException {
        node.state
                .ownEnv("a", capacity, shell.pid())
                .device(0, "a")
                .device(1)
                .device(2)
                .write();
    }
}
