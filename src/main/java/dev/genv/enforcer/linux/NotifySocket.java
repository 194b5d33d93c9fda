package dev.genv.enforcer.linux;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import dev.genv.enforcer.linux.FileCalls.Descriptor;
import dev.genv.enforcer.linux.Libc.NativeFunction;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;

/** Sends datagrams to a Unix socket, for which Java has no channel: the protocol of sd_notify(3). */
public final class NotifySocket {
    private static final short AF_UNIX = 1;
    private static final int SOCK_DGRAM = 2;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_NOSIGNAL = 0x4000;

    private static final NativeFunction SOCKET = NativeFunction.of("socket");
    private static final NativeFunction SENDTO = NativeFunction.returningLong("sendto");

    private NotifySocket() {}

    /**
     * Sends a message without waiting for the receiver.
     *
     * @param name a path, or after an {@code @} a name in the abstract namespace (unix(7))
     * @throws Errno EAGAIN if the receiver has too many unread messages
     */
    public static void send(String name, String message) throws Errno {
        try (var arena = Arena.ofConfined();
                var socket = new Descriptor((int) SOCKET.call(AF_UNIX, SOCK_DGRAM | FileCalls.O_CLOEXEC, 0))) {
            var path = name.getBytes(StandardCharsets.UTF_8);
            if (path[0] == '@') {
                path[0] = 0;
            }
            var address = arena.allocate(Short.BYTES + path.length, Short.BYTES); // struct sockaddr_un
            address.set(JAVA_SHORT, 0, AF_UNIX);
            MemorySegment.copy(path, 0, address, JAVA_BYTE, Short.BYTES, path.length);
            var bytes = arena.allocateFrom(JAVA_BYTE, message.getBytes(StandardCharsets.UTF_8));
            SENDTO.call(
                    socket.number(),
                    bytes.address(),
                    bytes.byteSize(),
                    MSG_DONTWAIT | MSG_NOSIGNAL,
                    address.address(),
                    address.byteSize());
        }
    }
}
