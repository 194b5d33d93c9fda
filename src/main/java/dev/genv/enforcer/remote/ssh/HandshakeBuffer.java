package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.Buffer;
import com.jcraft.jsch.Session;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The buffer in which a session is negotiated. JSch keeps all 20 KiB of it, a third of what a connection weighs, and
 * needs a fraction of them from the login on: when keys are made anew.
 */
final class HandshakeBuffer {
    /** The secret of the largest exchange, two hashes, and some. */
    private static final int ENOUGH = 4 << 10;

    private static final VarHandle OF_SESSION = field(Session.class, "buf", Buffer.class);
    private static final VarHandle BYTES = field(Buffer.class, "buffer", byte[].class);

    private HandshakeBuffer() {}

    /** Gives most of it back. */
    static void shrink(Session session) {
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
