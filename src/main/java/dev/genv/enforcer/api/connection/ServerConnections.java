package dev.genv.enforcer.api.connection;

import com.sun.management.UnixOperatingSystemMXBean;
import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ServerChannel;
import java.lang.management.ManagementFactory;

/**
 * Limits the connections of each port that the service listens on. Netty loads it as a service, because Quarkus has no such limit for
 * its management interface, and none for slow request heads.
 */
public final class ServerConnections extends ChannelInitializerExtension {
    /** The files that a cycle opens, most of them jars, and those of child processes. */
    private static final long FILES = 256;

    /** The limit of each port, so that clients leave the files that cycles need. */
    private static final int MAX_CONNECTIONS = Math.clamp((mostFiles() - FILES) / 2, 16, 512);

    /** Lets Netty load it; must be called before the first port is opened. */
    public static void enable() {
        System.setProperty(EXTENSIONS_SYSTEM_PROPERTY, "serviceload");
    }

    @Override
    public void postInitializeServerListenerChannel(ServerChannel listener) {
        // One address gets a large share, because all clients behind a proxy have the same address.
        var limit = new ConnectionLimit(MAX_CONNECTIONS, MAX_CONNECTIONS / 2);
        listener.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext context, Object accepted) {
                admit((Channel) accepted, listener, limit);
                context.fireChannelRead(accepted);
            }
        });
    }

    private static long mostFiles() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? system.getMaxFileDescriptorCount()
                : Long.MAX_VALUE;
    }

    private static void admit(Channel channel, ServerChannel listener, ConnectionLimit limit) {
        var connection = new ClientConnection(channel, ClientAddress.of(channel), listener.eventLoop());
        channel.closeFuture().addListener(_ -> {
            limit.remove(connection);
            connection.forget();
        });
        PipelineLimit.add(channel);
        limit.admit(connection).ifPresent(ClientConnection::close);
    }
}
