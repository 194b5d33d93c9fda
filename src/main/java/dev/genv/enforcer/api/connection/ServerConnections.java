package dev.genv.enforcer.api.connection;

import com.sun.management.UnixOperatingSystemMXBean;
import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannel;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Limits the connections of each port that the service listens on. Netty loads it as a service, because Quarkus has no such limit for
 * its management interface, and none for slow request heads.
 */
public final class ServerConnections extends ChannelInitializerExtension {
    /** The files that a cycle opens, most of them jars, and those of child processes. */
    private static final long FILES = 256;

    /** The limit of each port, so that clients leave the files that cycles need. */
    private static final int MAX_CONNECTIONS = Math.clamp((mostFiles() - FILES) / 2, 16, 512);

    /**
     * In bytes, of which the kernel keeps twice as many. It counts them for the container, and would choose up to 4 MiB for each client
     * that does not read.
     */
    private static final int SEND_BUFFER = 32 << 10;

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
        channel.config().setOption(ChannelOption.SO_SNDBUF, SEND_BUFFER);
        var address = ClientConnection.address(channel);
        var connection = new ClientConnection(channel, address, ResponseBudget.OF_SERVICE, listener.eventLoop());
        channel.closeFuture().addListener(_ -> {
            limit.remove(connection);
            connection.forget();
        });
        limit.admit(connection).ifPresent(ClientConnection::end);
    }

    /**
     * The open connections of one port. A new one is always admitted. Above the limit of its address or of all, the oldest connection
     * without a request in progress is closed, or else the oldest one.
     */
    static final class ConnectionLimit {
        private final int total;
        private final int perAddress;
        /** Ordered from the oldest. */
        private final Set<ClientConnection> open = new LinkedHashSet<>();

        ConnectionLimit(int total, int perAddress) {
            this.total = total;
            this.perAddress = perAddress;
        }

        /** Adds a connection, and returns the connection that must be closed for it. */
        synchronized Optional<ClientConnection> admit(ClientConnection connection) {
            var victim = victim(each -> each.address.equals(connection.address), perAddress)
                    .or(() -> victim(_ -> true, total));
            victim.ifPresent(open::remove);
            open.add(connection);
            return victim;
        }

        synchronized void remove(ClientConnection connection) {
            open.remove(connection);
        }

        private Optional<ClientConnection> victim(Predicate<ClientConnection> counted, int most) {
            var connections = open.stream().filter(counted).toList();
            if (connections.size() < most) {
                return Optional.empty();
            }
            return connections.stream()
                    .filter(ClientConnection::isIdle)
                    .findFirst()
                    .or(() -> Optional.of(connections.getFirst()));
        }
    }
}
