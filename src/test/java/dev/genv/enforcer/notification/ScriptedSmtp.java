package dev.genv.enforcer.notification;

import dev.genv.enforcer.testsupport.ScriptedServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/** An SMTP server for what a real one does not do: it hangs, refuses, or begins TLS with STARTTLS. */
final class ScriptedSmtp extends ScriptedServer {
    private final Behaviour behaviour;
    private final @Nullable SSLContext tls;
    private final boolean implicit;
    private final @Nullable Refusal refusal;
    private final List<String> lines = new CopyOnWriteArrayList<>();
    /** What the server does. */
    enum Behaviour {
        ACCEPT,
        /** It sends no greeting. */
        HANG,
        /** It sends a byte of its greeting now and then, without an end. */
        DRIP
    }

    /** The answer to a command that is not accepted, such as RCPT. */
    record Refusal(String command, String answer) {}

    ScriptedSmtp(Behaviour behaviour, @Nullable SSLContext tls) throws IOException {
        this(behaviour, tls, false, null);
    }

    /** With TLS from the start or by STARTTLS. */
    ScriptedSmtp(Behaviour behaviour, @Nullable SSLContext tls, boolean implicit, @Nullable Refusal refusal)
            throws IOException {
        this.behaviour = behaviour;
        this.tls = tls;
        this.implicit = implicit;
        this.refusal = refusal;
        start();
    }

    /** Accepts all commands except for one. */
    static ScriptedSmtp refusing(String command, String answer) throws IOException {
        return new ScriptedSmtp(Behaviour.ACCEPT, null, false, new Refusal(command, answer));
    }

    /** The lines of the client, those of the mail included. */
    List<String> lines() {
        return List.copyOf(lines);
    }

    @Override
    protected void serve(Socket socket) throws IOException, InterruptedException {
        switch (behaviour) {
            case HANG -> socket.getInputStream().read();
            case DRIP -> drip(socket.getOutputStream(), '2');
            case ACCEPT -> {
                var first = implicit && tls != null ? secure(tls, socket) : socket;
                answer(first, "220 test ESMTP");
                converse(first, tls != null && !implicit);
            }
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
        if (refusal != null && command.startsWith(refusal.command())) {
            return refusal.answer();
        }
        if (command.startsWith("EHLO")) {
            return "250-test\r\n%s250 AUTH PLAIN".formatted(offersTls ? "250-STARTTLS\r\n" : "");
        }
        return command.equals("DATA") ? "354 go on" : "250 ok";
    }

    private static void answer(Socket socket, String line) throws IOException {
        socket.getOutputStream().write((line + "\r\n").getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
    }
}
