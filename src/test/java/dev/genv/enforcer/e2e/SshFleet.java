package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;

import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/** The packaged program that enforces on fake machines over SSH: it logs in as their administrator. */
public final class SshFleet implements AutoCloseable {
    /** The rule of sudo that the administrator needs. */
    public static final String SUDOERS = RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/bin/python3";

    public final RealHosts hosts;
    /** The program. */
    public final Node node;

    public SshFleet(Path directory) throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        // These paths exist on the machines and not on the node of the program.
        node = new Node(Files.createDirectory(directory.resolve("program")))
                .unset("STATE_DIR")
                .unset("NVIDIA_SMI")
                .unset("NODE_NAME")
                // A slow machine needs longer for a login than the default.
                .set("REMOTE_TIMEOUT", "%ds".formatted(HANG.toSeconds()))
                .set("REMOTE_USERNAME", RealSshd.ADMIN)
                .set("REMOTE_IDENTITY_FILE", hosts.identity())
                .set("REMOTE_KNOWN_HOSTS", hosts.knownHosts());
    }

    /** Starts another machine with three GPUs. */
    public RealSshd startMachine(String name) throws IOException {
        var host = hosts.start(name);
        host.sudoers(SUDOERS);
        host.gpus().gpus(3);
        return host;
    }

    /** Sets the machines of the program. */
    public SshFleet setHosts(RealSshd... listed) {
        node.set("REMOTE_HOSTS", Arrays.stream(listed).map(RealSshd::target).collect(Collectors.joining(",")));
        return this;
    }

    @Override
    public void close() throws IOException {
        node.close();
        hosts.close();
    }
}
