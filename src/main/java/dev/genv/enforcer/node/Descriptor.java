package dev.genv.enforcer.node;

import dev.genv.enforcer.files.FileCalls;
import java.io.IOException;

/** An open file descriptor, closed once. */
final class Descriptor implements AutoCloseable {
    private final int number;
    private boolean open = true;

    Descriptor(int number) {
        this.number = number;
    }

    int number() {
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
