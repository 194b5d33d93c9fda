package dev.genv.enforcer.api.connection;

import io.netty.channel.Channel;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.net.impl.ConnectionBase;
import java.util.Objects;

/** Closes connections at once, also if the client does not read. The close of Vert.x waits until everything has been sent. */
public final class ForcedClose {
    private ForcedClose() {}

    public static void close(HttpConnection connection) {
        close(((ConnectionBase) connection).channel());
    }

    /** Any thread may call it. */
    public static void close(Channel channel) {
        // From the first handler on, there is none that could delay it.
        var _ = Objects.requireNonNull(channel.pipeline().firstContext()).close();
    }
}
