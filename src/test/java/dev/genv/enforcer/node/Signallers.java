package dev.genv.enforcer.node;

import dev.genv.enforcer.node.gpu.DeviceHolders;
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
        var files = new ProcFs(driver);
        var devices = new NvidiaDevices(driver);
        return new Signaller(
                new ProcessReader(new ProcFs(processes)),
                new DeviceCheck(devices, new DeviceHolders(driver, files, devices)));
    }
}
