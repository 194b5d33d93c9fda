package dev.genv.enforcer.remote.ssh.transport.socket;

import com.jcraft.jsch.Buffer;
import com.jcraft.jsch.Session;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The buffer of a session's key exchange. JSch keeps its 20 KiB, a third of the memory of a connection. After the login,
 * only a later key exchange uses it, and needs a fraction.
 */
public final class HandshakeBuffer {
    /** Enough for the shared secret of the largest key exchange and two hashes. */
    private static final int ENOUGH = 4 << 10;

    private static final VarHandle OF_SESSION = field(Session.class, "buf", Buffer.class);
    private static final VarHandle BYTES = field(Buffer.class, "buffer", byte[].class);

    private HandshakeBuffer() {}

    /** Replaces the buffer of a session by a small one. */
    public static void shrink(Session session) {
        BYTES.set((Buffer) OF_SESSION.get(session), new byte[ENOUGH]);
    }

    private static VarHandle field(Class<?> owner, String name, Class<?> type) {
        try {
            return MethodHandles.privateLookupIn(owner, MethodHandles.lookup()).findVarHandle(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
