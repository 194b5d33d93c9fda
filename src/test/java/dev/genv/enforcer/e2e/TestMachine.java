package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A machine with processes, and the program that enforces on it.
 *
 * @param resources what is closed with it
 */
public record TestMachine(Node program, FakeNvidiaSmi gpus, StateFiles state, Path stateDirectory, Closeable resources)
        implements Closeable {

    /** Creates a machine on which the program runs itself, with three devices. */
    public static TestMachine ofNode(Path folder) throws IOException {
        var node = new Node(folder);
        node.gpus.gpus(3);
        return new TestMachine(node, node.gpus, node.state, node.stateDirectory, node::close);
    }

    /** Creates a machine that the program reaches over SSH. */
    public static TestMachine overSsh(Path folder) throws IOException {
        var fleet = new SshFleet(folder);
        var host = fleet.startMachine("gpu-1");
        fleet.setHosts(host);
        return new TestMachine(fleet.node, host.gpus(), host.state(), host.stateDirectory(), fleet::close);
    }

    @Override
    public void close() throws IOException {
        resources.close();
    }
}
