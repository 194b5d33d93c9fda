package dev.genv.enforcer.testsupport.ssh;

import java.io.InputStream;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.spec.ECGenParameterSpec;
import java.util.function.Function;
import java.util.logging.Level;
import org.apache.sshd.common.keyprovider.KeyPairProvider;
import org.apache.sshd.core.CoreModuleProperties;
import org.apache.sshd.server.Environment;
import org.apache.sshd.server.ExitCallback;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.channel.ChannelSession;
import org.apache.sshd.server.command.Command;
import org.jboss.logmanager.LogContext;
import org.jboss.logmanager.Logger;

/** The common part of the SSH servers in the tests' JVM. */
final class MinaServer {
    /** Otherwise it would log every byte. The reference keeps the logger and its level. */
    private static final Logger LOG = LogContext.getLogContext().getLogger("org.apache.sshd");

    static {
        LOG.setLevel(Level.SEVERE);
    }

    private MinaServer() {}

    /** A command with the streams of its channel; it returns the exit code. */
    interface Program {
        int run(InputStream in, OutputStream out, OutputStream errors) throws Exception;
    }

    /** Creates a server without starting it.
     *
     * @param port 0 for any free port
     * @param programs runs a command
     */
    static SshServer at(String address, int port, KeyPair hostKey, Function<String, Program> programs) {
        var server = SshServer.setUpDefaultServer();
        server.setHost(address);
        server.setPort(port);
        CoreModuleProperties.TCP_NODELAY.set(server, true); // as in OpenSSH
        server.setKeyPairProvider(KeyPairProvider.wrap(hostKey));
        server.setCommandFactory((_, command) -> new Running(programs.apply(command)));
        return server;
    }

    static KeyPair newKey() {
        try {
            var generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            return generator.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Running implements Command {
        private final Program program;
        private InputStream in;
        private OutputStream out;
        private OutputStream errors;
        private ExitCallback exit;
        private volatile Thread thread;

        Running(Program program) {
            this.program = program;
        }

        @Override
        public void start(ChannelSession channel, Environment environment) {
            thread = Thread.ofVirtual().unstarted(this::run);
            thread.start();
        }

        private void run() {
            try {
                var code = program.run(in, out, errors);
                out.flush();
                errors.flush();
                exit.onExit(code);
            } catch (Exception e) {
                exit.onExit(126, String.valueOf(e));
            }
        }

        @Override
        public void destroy(ChannelSession channel) {
            thread.interrupt();
        }

        @Override
        public void setInputStream(InputStream stream) {
            in = stream;
        }

        @Override
        public void setOutputStream(OutputStream stream) {
            out = stream;
        }

        @Override
        public void setErrorStream(OutputStream stream) {
            errors = stream;
        }

        @Override
        public void setExitCallback(ExitCallback callback) {
            exit = callback;
        }
    }
}
