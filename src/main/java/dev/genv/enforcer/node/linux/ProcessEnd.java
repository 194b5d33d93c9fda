package dev.genv.enforcer.node.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.genv.enforcer.files.Descriptor;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.NativeFunction;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.OptionalInt;

/** The end of a child process: its pid is not reused before its exit code was collected here. */
final class ProcessEnd {
    private static final short POLLIN = 1;
    private static final int WNOHANG = 1;
    private static final int SIGNAL_BITS = 0x7f;
    private static final int CODE_SHIFT = 8;
    private static final int CODE_BITS = 0xff;
    /** As shells and Java report a process that a signal ended. */
    private static final int SIGNALLED = 128;

    private static final NativeFunction POLL = NativeFunction.of("poll", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final NativeFunction WAITPID = NativeFunction.of("waitpid", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);

    private final int pid;
    private final Descriptor descriptor;
    private OptionalInt exitCode = OptionalInt.empty();

    ProcessEnd(int pid) throws Errno {
        this.pid = pid;
        descriptor = new Descriptor(Libc.pidfdOpen(pid));
    }

    /** Waits until the process has exited, and returns its exit code; empty if it still runs after that time. */
    synchronized OptionalInt await(Duration most) throws IOException {
        if (exitCode.isEmpty() && hasExited(most)) {
            exitCode = OptionalInt.of(collect());
            descriptor.close();
        }
        return exitCode;
    }

    synchronized void kill() throws IOException {
        if (exitCode.isEmpty()) {
            Libc.pidfdSendSignal(descriptor.number(), Libc.SIGKILL);
        }
    }

    private boolean hasExited(Duration most) throws Errno {
        try (var arena = Arena.ofConfined()) {
            var descriptors = arena.allocate(Long.BYTES, Integer.BYTES); // one struct pollfd
            descriptors.set(JAVA_INT, 0, descriptor.number());
            descriptors.set(JAVA_SHORT, Integer.BYTES, POLLIN);
            return POLL.call(descriptors, 1L, Math.toIntExact(most.toMillis())) > 0;
        }
    }

    private int collect() throws Errno {
        try (var arena = Arena.ofConfined()) {
            var status = arena.allocate(JAVA_INT);
            WAITPID.call(pid, status, WNOHANG);
            var value = status.get(JAVA_INT, 0);
            var signal = value & SIGNAL_BITS;
            return signal == 0 ? (value >> CODE_SHIFT) & CODE_BITS : SIGNALLED + signal;
        }
    }
}
