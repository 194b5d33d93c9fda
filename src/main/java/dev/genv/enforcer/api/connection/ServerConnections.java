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
    /** Of each port. */
    public static final int MOST = 512;

    private static volatile int total = MOST;

    /**
     * Lets Netty load it. This must come before the first port is opened.
     *
     * @param connections how many connections each port keeps
     */
    public static void enable(int connections) {
        total = connections;
        System.setProperty(EXTENSIONS_SYSTEM_PROPERTY, "serviceload");
    }

    @Override
    public void postInitializeServerListenerChannel(ServerChannel listener) {
        // The share of one address is no small one: behind a proxy all clients have one address.
        var limit = new ConnectionLimit(total, total / 2);
        listener.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                admit((Channel) accepted, listener, limit);
                context.fireChannelRead(accepted);
            }
        });
    }

    private static void admit(Channel channel, ServerChannel listener, ConnectionLimit limit) {
        var connection = new ClientConnection(channel, addressOf(channel), listener.eventLoop());
        channel.closeFuture().addListener(_ -> {
            limit.remove(connection);
            connection.forget();
        });
        PipelineLimit.add(channel);
        limit.admit(connection).ifPresent(ClientConnection::close);
    }

    /** A client on the same machine can choose any of its loopback addresses. */
    private static Object addressOf(Channel channel) {
        if (!(channel.remoteAddress() instanceof InetSocketAddress inet)) {
            return "unknown";
        }
        return inet.getAddress().isLoopbackAddress() ? "loopback" : inet.getAddress();
    }
}
