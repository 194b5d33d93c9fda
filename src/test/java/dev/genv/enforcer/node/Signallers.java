package dev.genv.enforcer.node;

import dev.genv.enforcer.node.NodeMachine.Signaller;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ProcessReader;
import java.nio.file.Path;

/** Signallers of tests. */
final class Signallers {
    private Signallers() {}

    /**
     * Creates a signaller.
     *
     * @param processes the {@code /proc} of the processes
     * @param driver the {@code /proc} with the devices of the driver
     */
    static Signaller of(Path processes, Path driver) {
        return new Signaller(new ProcessReader(new ProcFs(processes)), new NvidiaDevices(driver));
    }
}
