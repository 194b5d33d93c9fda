package dev.genv.enforcer.node.gpu.nvml.library;

/** What the thread of NVML does, for the message about a call that does not return. */
public final class Activity {
    private volatile String current = "nothing";

    public void begin(String name) {
        current = name;
    }

    @Override
    public String toString() {
        return current;
    }
}
