package dev.genv.enforcer.testsupport.linux;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Ports for programs that cannot choose one themselves. */
public final class Ports {
    private Ports() {}

    /** Returns a port of a local address that was free at this moment. */
    public static int free(String address) throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getByName(address))) {
            return socket.getLocalPort();
        }
    }
}
