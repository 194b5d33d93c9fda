package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.ChannelDirectTCPIP;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.Proxy;
import com.jcraft.jsch.Session;
import com.jcraft.jsch.SocketFactory;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import org.jspecify.annotations.Nullable;

/** Connects to the next server through a session with the previous one. */
final class JumpProxy implements Proxy {
    private final Session server;
    /** JSch's own pipes fail after the last reading thread has ended; here one thread logs in and another one reads from then on. */
    private final Pipe incoming;

    private OutputStream outgoing = OutputStream.nullOutputStream();
    private @Nullable ChannelDirectTCPIP channel;

    /**
     * Creates a proxy; it connects later.
     *
     * @param transport closing it wakes the threads that wait for data or for buffer space
     */
    JumpProxy(Session server, Transport transport) {
        this.server = server;
        try {
            this.incoming = Pipe.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        transport.register(incoming.sink());
        transport.register(incoming.source());
    }

    @Override
    public void connect(@Nullable SocketFactory sockets, String host, int port, int timeout) throws IOException {
        try {
            var opened = (ChannelDirectTCPIP) server.getStreamForwarder(host, port);
            channel = opened;
            opened.setOutputStream(Channels.newOutputStream(incoming.sink()));
            opened.connect(timeout);
            outgoing = PacketSizeLimit.output(opened);
        } catch (JSchException _) {
            throw new ConnectException(server.getHost() + " does not connect to it");
        }
    }

    @Override
    public InputStream getInputStream() {
        return Channels.newInputStream(incoming.source());
    }

    @Override
    public OutputStream getOutputStream() {
        return outgoing;
    }

    @Override
    public @Nullable Socket getSocket() {
        return null;
    }

    @Override
    public void close() {
        Transport.close(incoming.sink());
        Transport.close(incoming.source());
        if (channel != null) {
            channel.disconnect();
        }
    }
}
