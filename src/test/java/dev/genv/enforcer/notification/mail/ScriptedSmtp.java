package dev.genv.enforcer.notification.mail;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/** An SMTP server for what a real one does not do: it hangs, refuses, or begins TLS with STARTTLS. */
final class ScriptedSmtp implements Closeable {
    private final ServerSocket listener;
    private final Behaviour behaviour;
    private final @Nullable SSLContext tls;
    private final boolean implicit;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    private final AtomicInteger closedByClient = new AtomicInteger();

    /** What the server does. */
    enum Behaviour {
        ACCEPT("250 ok"),
        REFUSE_FOR_EVER("550 no such user"),
        REFUSE_NOW("451 try again later"),
        /** It sends no greeting. */
        HANG(""),
        /** It sends a byte of its greeting now and then, without an end. */
        DRIP("");

        private final String answerToRecipient;

        Behaviour(String answer) {
            answerToRecipient = answer;
        }
    }

    ScriptedSmtp(Behaviour behaviour, @Nullable SSLContext tls) throws IOException {
        this(behaviour, tls, false);
    }

    /** With TLS from the start or by STARTTLS. */
    ScriptedSmtp(Behaviour behaviour, @Nullable SSLContext tls, boolean implicit) throws IOException {
        this.implicit = implicit;
        this.behaviour = behaviour;
        this.tls = tls;
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** The lines of the client, those of the mail included. */
    List<String> lines() {
        return List.copyOf(lines);
    }

    /** The number of connections that the client closed. */
    int closedByClient() {
        return closedByClient.get();
    }

    private void accept() {
        try {
            while (true) {
                var socket = listener.accept();
                open.add(socket);
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (SocketException e) {
            // closed
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            switch (behaviour) {
                case HANG -> socket.getInputStream().read();
                case DRIP -> drip(socket.getOutputStream());
                case ACCEPT, REFUSE_FOR_EVER, REFUSE_NOW -> {
                    var first = implicit && tls != null ? secure(tls, socket) : socket;
                    answer(first, "220 test ESMTP");
                    converse(first, tls != null && !implicit);
                }
            }
            closedByClient.incrementAndGet();
        } catch (IOException e) {
            closedByClient.incrementAndGet();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void drip(OutputStream out) throws IOException, InterruptedException {
        while (true) {
            out.write('2');
            Thread.sleep(20); // the pace of the server, not a condition to wait for
        }
    }

    private void converse(Socket socket, boolean offersTls) throws IOException {
        var in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        var isMail = false;
        for (var line = in.readLine(); line != null; line = in.readLine()) {
            lines.add(line);
            if (isMail) {
                if (line.equals(".")) {
                    isMail = false;
                    answer(socket, "250 ok");
                }
                continue;
            }
            var command = line.toUpperCase(Locale.ROOT);
            if (command.equals("STARTTLS") && tls != null) {
                answer(socket, "220 ready");
                converse(secure(tls, socket), false);
                return;
            }
            isMail = command.equals("DATA");
            answer(socket, answerTo(command, offersTls));
            if (command.equals("QUIT")) {
                return;
            }
        }
    }

    private static SSLSocket secure(SSLContext tls, Socket socket) throws IOException {
        var secure = (SSLSocket) tls.getSocketFactory().createSocket(socket, null, socket.getPort(), true);
        secure.setUseClientMode(false);
        return secure;
    }

    private String answerTo(String command, boolean offersTls) {
        if (command.startsWith("EHLO")) {
            return offersTls ? "250-test\r\n250 STARTTLS" : "250 test";
        }
        if (command.startsWith("RCPT")) {
            return behaviour.answerToRecipient;
        }
        return command.equals("DATA") ? "354 go on" : "250 ok";
    }

    private static void answer(Socket socket, String line) throws IOException {
        socket.getOutputStream().write((line + "\r\n").getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (var socket : open) {
            socket.close();
        }
    }
}
