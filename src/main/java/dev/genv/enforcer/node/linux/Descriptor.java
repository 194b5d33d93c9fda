package dev.genv.enforcer.node.linux;

import dev.genv.enforcer.files.FileCalls;
import java.io.IOException;

/** An open file descriptor, closed once. */
public final class Descriptor implements AutoCloseable {
    private final int number;
    private boolean open = true;

    public Descriptor(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }

    @Override
    public void close() throws IOException {
        if (open) {
            open = false;
            FileCalls.close(number);
        }
    }
}
