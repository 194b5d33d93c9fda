package dev.genv.enforcer.api.connection;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ServerChannel;
import java.net.InetSocketAddress;

/**
 * Limits the connections of every port that the service listens on, each port by itself. Netty loads it as a service, because
 * Quarkus offers no such limit for its management interface, and none for a head that comes slowly.
 */
public final class ServerConnections extends ChannelInitializerExtension {
    /** 1,024 for both ports. The JVM raises its soft limit of descriptors, often as many, to the hard one. */
    static final int TOTAL = 512;

    /** A share, and no small one: behind a proxy all clients have one address. */
    static final int PER_ADDRESS = 256;

    /** Lets Netty load it. This must come before the first port is opened. */
    public static void enable() {
        System.setProperty(EXTENSIONS_SYSTEM_PROPERTY, "serviceload");
    }

    @Override
    public void postInitializeServerListenerChannel(ServerChannel listener) {
        var limit = new ConnectionLimit(TOTAL, PER_ADDRESS);
        listener.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                admit((Channel) accepted, listener, limit);
                context.fireChannelRead(accepted);
            }
        });
    }

    private static void admit(Channel channel, ServerChannel listener, ConnectionLimit limit) {
        var address = channel.remoteAddress() instanceof InetSocketAddress inet ? inet.getAddress() : "unknown";
        var connection = new ClientConnection(channel, address, listener.eventLoop());
        channel.closeFuture().addListener(_ -> {
            limit.remove(connection);
            connection.forget();
        });
        PipelineLimit.add(channel);
        limit.admit(connection).ifPresent(ClientConnection::close);
    }
}
