package dev.genv.enforcer.node.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.genv.enforcer.files.Descriptor;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.files.NativeFunction;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;

/** The output of a child process. */
final class PipeInput extends InputStream {
    /** asm-generic/ioctls.h: the number of bytes that can be read. */
    private static final long FIONREAD = 0x541B;

    private static final int O_CLOEXEC = 02000000;
    private static final NativeFunction PIPE2 = NativeFunction.of("pipe2", JAVA_INT, ADDRESS, JAVA_INT);
    private static final NativeFunction IOCTL =
            NativeFunction.variadic("ioctl", 2, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);

    private final Descriptor descriptor;

    private PipeInput(Descriptor descriptor) {
        this.descriptor = descriptor;
    }

    /** A new pipe: its end for reading, and its end for writing. */
    record Ends(PipeInput input, Descriptor output) implements AutoCloseable {
        static Ends open() throws Errno {
            try (var arena = Arena.ofConfined()) {
                var numbers = arena.allocate(JAVA_INT, 2);
                PIPE2.call(numbers, O_CLOEXEC);
                return new Ends(
                        new PipeInput(new Descriptor(numbers.getAtIndex(JAVA_INT, 0))),
                        new Descriptor(numbers.getAtIndex(JAVA_INT, 1)));
            }
        }

        /** Closes both. */
        @Override
        public void close() throws IOException {
            output.close();
            input.close();
        }
    }

    @Override
    public int available() throws IOException {
        try (var arena = Arena.ofConfined()) {
            var count = arena.allocate(JAVA_INT);
            IOCTL.call(descriptor.number(), FIONREAD, count);
            return count.get(JAVA_INT, 0);
        }
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
        var bytes = FileCalls.read(descriptor.number(), Math.min(length, Math.max(1, available())));
        System.arraycopy(bytes, 0, buffer, offset, bytes.length);
        return bytes.length == 0 && length > 0 ? -1 : bytes.length;
    }

    @Override
    public int read() throws IOException {
        var one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public void close() throws IOException {
        descriptor.close();
    }
}
