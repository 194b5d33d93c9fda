package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.Channel;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Limits the packet size that the server requests for a channel. JSch allocates a buffer of that size, up to 2 GiB, so one
 * host could exhaust the memory of the service; JSch has no setting for it.
 */
final class PacketSizeLimit {
    private static final int LARGEST = 32 << 10;
    private static final VarHandle FIELD = field("rmpsize", int.class);
    private static final VarHandle OPENED = field("open_confirmation", boolean.class);

    private PacketSizeLimit() {}

    /**
     * Opens the output of a channel, and allocates its buffer at once: the server may send another packet size, for which JSch
     * first takes the lock of the channel.
     */
    static OutputStream output(Channel channel) throws IOException {
        synchronized (channel) {
            limit(channel);
            var output = channel.getOutputStream();
            output.write(new byte[0]);
            return output;
        }
    }

    /** Lowers the packet size of a channel to the limit. */
    static void limit(Channel channel) {
        FIELD.setVolatile(channel, Math.clamp((int) FIELD.getVolatile(channel), 0, LARGEST));
    }

    /** Whether the server has sent a packet size, 0 included. It does so when it opens the channel, before the command is sent. */
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
