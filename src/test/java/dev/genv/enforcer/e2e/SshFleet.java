package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.RealHosts;
import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Collectors;

/** The packaged program, told to enforce fake machines over SSH: it logs in as their administrator. */
public final class SshFleet implements AutoCloseable {
    /** All that the administrator needs to be allowed. */
    public static final String SUDOERS = RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/bin/python3";

    public final RealHosts hosts;
    /** The program. */
    public final Node node;

    public SshFleet(Path directory) throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        // What stands there is on the machines, but not where the program runs.
        node = new Node(Files.createDirectory(directory.resolve("program")))
                .unset("STATE_DIR")
                .unset("NVIDIA_SMI")
                .unset("NODE_NAME")
                .set("REMOTE_USERNAME", RealSshd.ADMIN)
                .set("REMOTE_IDENTITY_FILE", hosts.identity())
                .set("REMOTE_KNOWN_HOSTS", hosts.knownHosts());
    }

    /** One more machine, with three GPUs, that runs. */
    public RealSshd startMachine(String name) throws IOException {
        var host = hosts.start(name);
        host.sudoers(SUDOERS);
        host.gpus().gpus(3);
        return host;
    }

    /** These are the ones that the program is told of. */
    public SshFleet setHosts(RealSshd... listed) {
        node.set("REMOTE_HOSTS", Arrays.stream(listed).map(RealSshd::target).collect(Collectors.joining(",")));
        return this;
    }

    /** An OpenSSH client's configuration, by which hosts have the names of their machines. */
    public Path writeSshConfig(RealSshd... listed) throws IOException {
        var lines = new StringBuilder();
        for (var host : listed) {
            lines.append("Host %s\n  HostName %s\n  Port %d\n".formatted(host.name(), host.address(), host.port()));
        }
        return Files.writeString(node.directory.resolve("ssh_config"), lines.toString());
    }

    @Override
    public void close() throws IOException {
        node.close();
        hosts.close();
    }
}
