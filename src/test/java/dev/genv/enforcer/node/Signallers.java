package dev.genv.enforcer.node;

import dev.genv.enforcer.node.device.DeviceHolders;
import dev.genv.enforcer.node.device.NvidiaDevices;
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
     * @param driver the {@code /proc} with the devices of the driver, with {@code nvidiactl} as the control device
     */
    static Signaller of(Path processes, Path driver) {
        return of(processes, driver, () -> {});
    }

    /**
     * Creates a signaller.
     *
     * @param doubt as of {@link DeviceCheck}
     */
    static Signaller of(Path processes, Path driver, Runnable doubt) {
        var files = new ProcFs(driver);
        var devices = new NvidiaDevices(driver, driver.resolve("nvidiactl"));
        return new Signaller(
                new ProcessReader(new ProcFs(processes)),
                new DeviceCheck(devices, new DeviceHolders(driver, files, devices), doubt));
    }
}
