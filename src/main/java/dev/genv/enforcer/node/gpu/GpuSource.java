package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.GpuFacts;

/**
 * Reads the GPUs of this machine and the processes on them. One thread at a time uses it.
 *
 * @param <T> the type of its answers
 */
public interface GpuSource<T extends GpuFacts> {
    /**
     * Reads all devices and processes once, within the time limit that the source was created with. A failure, also a call that hangs, is
     * part of the answer, not an exception.
     *
     * @throws InterruptedException if the service no longer waits for the answer
     */
    T read() throws InterruptedException;

    /** Has the next reading query the devices again, which a source may keep from one reading to the next. */
    void forgetDevices();

    /** Releases the driver until the next reading. A call that hangs is left alone. */
    void release();
}
