package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.remote.Connection.ProgramRequest;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The CPU time of connections to the hosts of a benchmark. */
final class ConnectionCost {
    private static final int CONNECTIONS_TO_MEASURE = 1000;
    private static final int RUNS_OF_SSH_TO_MEASURE = 200;
    private static final int AT_ONCE = 20;

    private final List<HostAddress> hosts;
    private final SshSettings settings;

    ConnectionCost(List<HostAddress> hosts, SshSettings settings) {
        this.hosts = hosts;
        this.settings = settings;
    }

    /** Returns the CPU time, in nanoseconds, of two new connections of the service to a host with one command on each. */
    double twoConnections() throws Exception {
        var access = new SshAccess(settings);
        connect(access, CONNECTIONS_TO_MEASURE / 2);
        var cpu = ClientCpu.nanos();
        connect(access, CONNECTIONS_TO_MEASURE);
        return 2.0 * (ClientCpu.nanos() - cpu) / CONNECTIONS_TO_MEASURE;
    }

    private void connect(SshAccess access, int times) throws Exception {
        together(times, host -> {
            try (var connection = access.connection(host)) {
                connection.request(new ProgramRequest("true", "", "\n", "@", true, settings.timeout(), 1 << 20));
            }
        });
    }

    /**
     * Returns the CPU time, in nanoseconds, of two runs of OpenSSH's client, as genv makes them for a host in a cycle
     * (genv/utils/runners/ssh.py).
     */
    double twoRunsOfSsh() throws Exception {
        var cpu = ClientCpu.nanosOfChildren();
        together(RUNS_OF_SSH_TO_MEASURE, this::runSsh);
        return 2.0 * (ClientCpu.nanosOfChildren() - cpu) / RUNS_OF_SSH_TO_MEASURE;
    }

    private void runSsh(HostAddress host) throws IOException, InterruptedException {
        var ssh = new ProcessBuilder(
                        "ssh",
                        "-F",
                        "none",
                        "-o",
                        "BatchMode=yes",
                        "-o",
                        "UserKnownHostsFile=" + settings.knownHosts(),
                        "-i",
                        Objects.requireNonNull(settings.identityFile()).toString(),
                        "-p",
                        String.valueOf(host.port()),
                        "root@" + host.host(),
                        "true")
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        if (ssh.waitFor() != 0) {
            throw new IOException("ssh failed with exit code " + ssh.exitValue());
        }
    }

    /** The work for one host. */
    private interface Work {
        void on(HostAddress host) throws Exception;
    }

    private void together(int times, Work work) throws Exception {
        for (var done = 0; done < times; done += AT_ONCE) {
            var failure = new AtomicReference<@Nullable Exception>();
            var latch = new CountDownLatch(AT_ONCE);
            for (var i = 0; i < AT_ONCE; i++) {
                var host = hosts.get((done + i) % hosts.size());
                Thread.ofVirtual().start(() -> {
                    try {
                        work.on(host);
                    } catch (Exception e) {
                        failure.set(e);
                    } finally {
                        latch.countDown();
                    }
                });
            }
            latch.await();
            if (failure.get() != null) {
                throw failure.get();
            }
        }
    }
}
