package dev.genv.enforcer.remote.shell;

import java.util.function.LongSupplier;

/**
 * What is remembered of a host from one look to the next.
 *
 * @param silent the processes that keep their memory from being read
 * @param hanging what else hung
 */
record ObservationContext(
        SilentProcesses silent,
        HangBackoff<String> hanging,
        GpuAnswer gpus,
        StateAnswer states,
        RemoteAccounts accounts) {
    static final String KERNELS = "kernels";

    /** Of a host that has not been looked at yet. */
    static ObservationContext fresh(String stateDirectory, LongSupplier nanos) {
        var hanging = new HangBackoff<String>(nanos);
        return new ObservationContext(
                new SilentProcesses(nanos),
                hanging,
                new GpuAnswer(hanging),
                new StateAnswer(stateDirectory),
                new RemoteAccounts());
    }
}
