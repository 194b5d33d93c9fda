package dev.genv.enforcer.node.gpu.nvml;

/** What the thread of NVML does, for the message about a call that does not return. */
final class Activity {
    private volatile String current = "nothing";

    void begin(String name) {
        current = name;
    }

    @Override
    public String toString() {
        return current;
    }
}
