package dev.genv.enforcer.remote.shell;

import java.util.function.LongSupplier;

/**
 * What is remembered of a host from one look to the next.
 *
 * @param silent the processes that keep their memory from being read
 * @param hanging what else hung
 */
record HostMemory(
        SilentProcesses silent, Pauses<String> hanging, GpuAnswer gpus, StateAnswer states, AccountsThere accounts) {
    static final String KERNELS = "kernels";

    /** Of a host that has not been looked at yet. */
    static HostMemory fresh(String stateDirectory, LongSupplier nanos) {
        var hanging = new Pauses<String>(nanos);
        return new HostMemory(
                new SilentProcesses(nanos),
                hanging,
                new GpuAnswer(hanging),
                new StateAnswer(stateDirectory),
                new AccountsThere());
    }
}
