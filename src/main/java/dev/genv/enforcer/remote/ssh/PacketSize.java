package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.Channel;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The size of the packets that the other side of a channel would like. JSch believes it and sets aside a buffer of that
 * size, up to 2 GiB, which one host could use to take the memory of all; and it offers no way to say otherwise.
 */
final class PacketSize {
    private static final int LARGEST = 32 << 10;
    private static final VarHandle FIELD = field("rmpsize", int.class);
    private static final VarHandle OPENED = field("open_confirmation", boolean.class);

    private PacketSize() {}

    /** Brings it within bounds. */
    static void limit(Channel channel) {
        FIELD.setVolatile(channel, Math.clamp((int) FIELD.getVolatile(channel), 0, LARGEST));
    }

    /** Whether it was ever said, be it 0, which is when the channel was opened: the command is only said after that. */
    static boolean isKnown(Channel channel) {
        return (boolean) OPENED.getVolatile(channel);
    }

    private static VarHandle field(String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(Channel.class, MethodHandles.lookup())
                    .findVarHandle(Channel.class, name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
