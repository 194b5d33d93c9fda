package dev.genv.enforcer.api.connection;

import io.netty.channel.Channel;
import io.vertx.core.net.impl.ConnectionBase;
import io.vertx.ext.web.RoutingContext;
import java.net.InetSocketAddress;

/** The address of a client. All clients behind a proxy have the address of the proxy. */
public final class ClientAddress {
    private ClientAddress() {}

    /** Returns the key of the client that sent a request. */
    public static Object of(RoutingContext request) {
        return of(((ConnectionBase) request.request().connection()).channel());
    }

    /**
     * Returns a key that all connections from an address share. A client on the same machine can choose any loopback address, so all
     * of them count as one. A header that names the client of a proxy is not used, because every client can send it.
     */
    static Object of(Channel channel) {
        if (!(channel.remoteAddress() instanceof InetSocketAddress inet)) {
            return "unknown";
        }
        return inet.getAddress().isLoopbackAddress() ? "loopback" : inet.getAddress();
    }
}
