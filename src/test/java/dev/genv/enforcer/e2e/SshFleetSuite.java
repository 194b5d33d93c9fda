package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Every test has its own machines, of which two run, and which are removed at the end of the test. */
public abstract class SshFleetSuite {

    @TempDir
    public Path directory;

    public SshFleet fleet;
    public RealSshd first;
    public RealSshd second;
    private final List<Child> children = new ArrayList<>();

    @BeforeEach
    void makeFleet() throws IOException {
        fleet = new SshFleet(directory);
        first = fleet.startMachine("gpu-1");
        second = fleet.startMachine("gpu-2");
        fleet.setHosts(first, second);
    }

    @AfterEach
    void closeFleet() throws IOException {
        if (fleet != null) {
            fleet.close();
        }
        children.forEach(Child::close);
    }

    public Child startChild(Map<String, String> variables) throws IOException {
        return closeLater(Child.withEnvironment(variables));
    }

    public Child closeLater(Child child) {
        children.add(child);
        return child;
    }

    /** Starts a process outside of all environments on the first GPU of a machine. */
    public Child startStray(RealSshd host) throws IOException {
        var stray = startChild(Map.of());
        host.gpus().process(0, stray.pid(), "10");
        return stray;
    }

    public static void awaitExit(Child child) {
        await().until(() -> !child.isAlive());
    }
}
