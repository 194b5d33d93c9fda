package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has machines of its own, of which two run, and nothing of them is left when the test ends. */
abstract class OnAnSshFleet {

    @TempDir
    Path directory;

    SshFleet fleet;
    RealSshd first;
    RealSshd second;
    private final List<Child> children = new ArrayList<>();

    @BeforeEach
    void makeFleet() throws IOException {
        fleet = new SshFleet(directory);
        first = fleet.start("gpu-1");
        second = fleet.start("gpu-2");
        fleet.list(first, second);
    }

    @AfterEach
    void closeFleet() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
        children.forEach(Child::close);
    }

    Child child(Map<String, String> variables) throws IOException {
        return add(Child.withEnvironment(variables));
    }

    Child add(Child child) {
        children.add(child);
        return child;
    }

    /** A process outside of all environments on the first GPU of that machine. */
    Child stray(RealSshd host) throws IOException {
        var stray = child(Map.of());
        host.gpus().process(0, stray.pid(), "10");
        return stray;
    }

    static void awaitEnd(Child child) {
        await().until(() -> !child.isAlive());
    }
}
